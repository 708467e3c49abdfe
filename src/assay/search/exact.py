"""Exact search: phrases and regular expressions in the text of every candidate, line by line.

A candidate contains a part of the query if one of its lines matches: of a passage the lines of its text, of a definition
those of the file between its first and last line. `Scan` reads each file once, checks it against the content hash of
the index, and matches it whole; it stops at a deadline. With words in the query, the ranking is then confined to the
candidates that contain all parts; without, matching lines are grouped by the innermost of these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.core.items import Outline, Passage
from assay.errors import AssayError
from assay.search.filters import FILE, Bools, Filters, Subset, filter_mask, restriction_mask
from assay.search.hits import Reader, Scored, SearchHit, SearchResults
from assay.search.pattern import LineMatch, Pattern
from assay.search.query import Query
from assay.search.search import Search, question_terms
from assay.store.index import Index
from assay.store.passages import Passages
from assay.store.source import WorkingTree
from assay.text.display import counted

if TYPE_CHECKING:
    from assay.rank.arrays import Ints
    from assay.store.catalogue import FileRow

SECONDS = 5.0  # for one query: 5,800 files (Prettier) take about one on a busy machine
_CLOCK_INTERVAL = 256  # matching lines between two looks at the clock
_MAX_NAMED = 3  # files named in a note
_DEFINITIONS = "SELECT number, kind, name, start, end, test FROM symbols WHERE file IN ({files})"


def search_exactly(search: Search, query: Query, k: int, filters: Filters) -> SearchResults:
    """Return the best `k` hits of a query with operators. Raises AssayError for one that cannot be answered."""
    if not (query.words.strip() or query.required):
        raise AssayError(_explain_filters_alone(query))
    kinds = {row.value.lower() for row in query.restrictions if row.field == "kind" and not row.excluded}
    if not query.required and kinds == {FILE}:
        raise AssayError('kind:file lists the files that contain an exact part: add "a phrase" or /a regex/')
    allowed = filter_mask(search.index, search.passages, filters)
    allowed &= restriction_mask(search.index, search.passages, query.restrictions)
    scan = Scan(search.index, search.passages, query, allowed)
    words = frozenset(question_terms(query.words))
    with search.checked():
        scan.run()
        hits = search.ranked(query.words, k, filters, Subset(scan.contains, scan.required)) if words else []
        # words rank and exact parts decide, so candidates without any of the words come last
        rest = scan.read(words, k) if len(hits) < k else []
    ids = {hit.id for hit in hits}
    hits += [hit for hit in rest if hit.id not in ids][: k - len(hits)]
    return SearchResults(hits, _notes(scan, 0 if words else len(scan.groups), k))


def is_ranked(query: Query) -> bool:
    """Return whether a query has words to rank by."""
    return bool(question_terms(query.words))


def _notes(scan: Scan, total: int, k: int) -> Iterator[str]:
    if total > k:
        yield f"best {k:,} of {total:,} results shown"
    if scan.unread:
        names = ", ".join(scan.unread[:_MAX_NAMED]) + (", …" if len(scan.unread) > _MAX_NAMED else "")
        yield f"{counted(len(scan.unread), 'file')} not searched, as changed since indexed or unreadable: {names}"


def _explain_filters_alone(query: Query) -> str:
    given = " ".join(map(str, (*query.exact, *query.restrictions)))
    what = "exclusions" if query.exact and not query.restrictions else "filters"
    return f'{given}: a query of {what} alone has nothing to look for; add words, "a phrase" or /a regex/'


class Definition(NamedTuple):
    """A definition of a file, or the file itself, by candidate number."""

    number: int
    kind: str
    name: str
    start: int
    end: int
    test: int


class Group(NamedTuple):
    """Matching lines that belong to one candidate; sorts in the order of results."""

    name_rank: int  # 0: its name or heading matches, 1: a part of it does, 2: no
    test: bool
    negative_count: int  # of matching lines
    path: str
    start: int
    number: int
    lines: tuple[int, ...]  # empty for a passage: all of its own


class Scan:
    """Search for the candidates that contain every required part of a query and no excluded one."""

    def __init__(self, index: Index, passages: Passages, query: Query, allowed: Bools) -> None:
        self.required = tuple(map(Pattern, query.required))
        self.excluded = tuple(map(Pattern, query.excluded))
        self.contains = np.zeros(len(allowed), bool) if self.required else allowed.copy()
        self.groups: list[Group] = []
        self.unread: list[str] = []
        self._index, self._passages, self._allowed = index, passages, allowed
        self._first = len(passages)  # candidate number of the first item
        self._tree = WorkingTree(index)
        self._deadline = monotonic() + SECONDS
        self._searched = self._total = 0

    def run(self) -> None:
        """Fill `contains`, `groups` and `unread`. Raises AssayError at the deadline."""
        if not (self.required or self.excluded):
            return
        passages = np.flatnonzero(self._allowed[: self._first])
        documents = self._passages.documents[passages]
        files = self._files()
        self._total = len(np.unique(documents)) + len(files)
        for place, number in enumerate(passages.tolist()):
            self._searched += bool(place and documents[place] != documents[place - 1])
            self._check_clock()
            self._search_passage(self._passages[number])
        self._searched = self._total - len(files)
        for row in files:
            self._check_clock()
            self._search_file(row)
            self._searched += 1
        self.groups.sort()

    def read(self, words: frozenset[str], k: int) -> list[SearchHit]:
        """Return the first `k` groups as hits. Their score is the number of matching lines, if no words rank them."""
        best = self.groups[:k]
        scored = [Scored(group.number, 0.0 if words else float(-group.negative_count), 0.0) for group in best]
        own_lines = {group.number: group.lines for group in best}
        return Reader(self._index, self._passages, words, self.required, own_lines).read(scored)

    def _check_clock(self) -> None:
        if monotonic() > self._deadline:
            raise AssayError(
                f"stopped after {SECONDS:g} s: {self._searched:,} of {counted(self._total, 'file')} searched; "
                "narrow it with path: or lang:"
            )

    def _lines(self, pattern: Pattern, data: bytes) -> list[LineMatch]:
        """Return the matching lines of a text, with an eye on the clock."""
        matches = list[LineMatch]()
        for match in pattern.first_in_lines(data):
            matches.append(match)
            if len(matches) % _CLOCK_INTERVAL == 0:
                self._check_clock()
        return matches

    def _matching(self, data: bytes) -> list[list[LineMatch]]:
        """Return the matching lines of each required part; empty if the text does not have them all."""
        matches = list[list[LineMatch]]()
        for pattern in self.required:
            if not (lines := self._lines(pattern, data)):
                return []
            matches.append(lines)
        return matches

    # passages

    def _search_passage(self, passage: Passage) -> None:
        data = passage.text.encode("utf-8", "replace")
        matches = self._matching(data)
        contains = bool(matches or not self.required) and not any(
            next(pattern.first_in_lines(data), None) for pattern in self.excluded
        )
        self.contains[passage.number] = contains
        if contains and matches:
            count = len({match.line for part in matches for match in part})
            heading = passage.headings[-1] if passage.headings else ""
            self.groups.append(
                Group(self._name_rank(heading), False, -count, passage.path, passage.first, passage.number, ())
            )

    # source files

    def _files(self) -> list[FileRow]:
        """Return the files of allowed items, by path."""
        items = self._allowed[self._first :]
        columns = self._index.columns
        stored = min(len(items), len(columns))
        used = (columns.kind[:stored] > 0) & items[:stored]
        numbers = set(np.unique(columns.file[:stored][used]).tolist())
        return sorted((row for row in self._index.files.values() if row.number in numbers), key=lambda row: row.path)

    def _search_file(self, row: FileRow) -> None:
        data = self._tree.content(row.path)
        if data is None:
            self.unread.append(row.path)
            self.contains[self._first + self._items(row)] = False
            return
        matches = self._matching(data)
        if self.required and not matches:
            return
        excluded = sorted(match.line for pattern in self.excluded for match in self._lines(pattern, data))
        if not (matches or excluded):
            return
        parts = [[match.line for match in part] for part in matches]
        containing = dict[int, Definition]()
        for definition in self._definitions(row):
            span = definition.start, definition.end
            fits = all(_any_within(lines, *span) for lines in parts) and not _any_within(excluded, *span)
            if fits and self._allowed[definition.number]:
                containing[definition.number] = definition
            else:
                self.contains[definition.number] = False
        self.contains[list(containing)] = True
        self.groups += self._group(row.path, data, matches, containing.values())

    def _items(self, row: FileRow) -> Ints:
        return np.flatnonzero(self._index.columns.file[: len(self._allowed) - self._first] == row.number)

    def _definitions(self, row: FileRow) -> Iterator[Definition]:
        for number, kind, name, start, end, test in self._index.rows_of(_DEFINITIONS, [row.number]):
            last = row.lines if kind == FILE else end  # a file's own item has only the first line
            if self._first + number < len(self._allowed):  # the last items may have no words, and then no place in it
                yield Definition(self._first + number, kind, name, start, last, test)

    def _group(
        self, path: str, data: bytes, matches: Sequence[Sequence[LineMatch]], containing: Iterable[Definition]
    ) -> Iterator[Group]:
        """Group the matching lines of a file by the innermost definition that contains all parts, else by the file.

        An outer definition that has only some of the parts outside its inner ones is no result of its own.
        """
        definitions = list(containing)
        outline = Outline(definitions)
        file = next((definition for definition in definitions if definition.kind == FILE), None)
        owned = dict[Definition, list[tuple[int, LineMatch]]]()
        for part, part_matches in enumerate(matches):
            for match in part_matches:
                if owner := next(outline.enclosing(match.line), file):
                    owned.setdefault(owner, []).append((part, match))
        for owner, own_matches in owned.items():
            if len({part for part, _ in own_matches}) == len(matches):
                lines = tuple(sorted({match.line for _, match in own_matches}))
                texts = (data[match.start : match.end] for _, match in own_matches)
                rank = 2 if owner.kind == FILE else self._name_rank(owner.name, texts)
                yield Group(rank, bool(owner.test), -len(lines), path, owner.start, owner.number, lines)

    def _name_rank(self, name: str, texts: Iterable[bytes] = ()) -> int:
        """Rank a definition or heading by its name: `"def main"` also matches the name of what it defines."""
        if not name:
            return 2
        if any(pattern.is_all_of(name) for pattern in self.required):
            return 0
        encoded = name.encode("utf-8", "replace")
        return (
            1 if any(pattern.is_in(name) for pattern in self.required) or any(encoded in text for text in texts) else 2
        )


def _any_within(lines: Sequence[int], start: int, end: int) -> bool:
    """Return whether one of the ascending lines lies between two."""
    place = bisect_left(lines, start)
    return place < len(lines) and lines[place] <= end
