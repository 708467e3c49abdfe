"""Places: items at the paths and stack frames of a task, and types under the folders it mentions.

Direct hits are the items that the task points at: by path, stack frame, rare name or project class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from assay.core.items import TYPE_KINDS
from assay.rank.pieces import Piece
from assay.rank.query import Keywords
from assay.rank.signals import classes
from assay.rank.signals.fusion import Channel, K
from assay.rank.signals.names import NameHit
from assay.rank.signals.signal import Signal, Stage
from assay.rank.vocabulary import ACTION_VERBS, FILLERS, STOP_WORDS
from assay.store.index import Index
from assay.text.terms import terms, words

if TYPE_CHECKING:
    from assay.rank.arrays import Floats
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking


_INNERMOST_AT_LINE = "ordinal >= 0 AND start <= ? AND end >= ? ORDER BY end - start, ordinal"
_NEAREST_NAMED = "ordinal >= 0 AND name = ? ORDER BY abs(start - ?), ordinal"
_FILE_ITEM = "ordinal = -1"


def places(index: Index, pieces: Iterable[Piece]) -> list[NameHit]:
    """Return the item at each path or frame: the frame's function, the innermost symbol at the line, else the file."""
    hits: dict[int, NameHit] = {}
    paths = list(index.files)
    for piece in pieces:
        for path in files_of(piece.path, paths):
            number = _item_at(index, index.files[path].number, piece)
            if number is not None:
                hits.setdefault(number, NameHit(number, "place", piece.text))
    return list(hits.values())


def files_of(path: str, paths: Sequence[str]) -> list[str]:
    """Return the indexed files with the longest common path suffix; the path may start above or below the root."""
    parts = [segment for segment in path.split("/") if segment not in ("", ".", "..")]
    if not parts:
        return []
    suffixes = [(_common_suffix(file.split("/"), parts), file) for file in paths if file.endswith(parts[-1])]
    best = max((count for count, _ in suffixes), default=0)
    matches = [file for count, file in suffixes if count == best > 0]
    # only the file name matches: accepted if the path has no more or the match is unique
    return matches if best > 1 or best == len(parts) or len(matches) == 1 else []


def _common_suffix(file: Sequence[str], parts: Sequence[str]) -> int:
    pairs = zip(reversed(file), reversed(parts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _item_at(index: Index, file: int, piece: Piece) -> int | None:
    name = piece.function.replace("::", ".").replace("#", ".").rpartition(".")[2]
    # a frame's function is more certain than its line, which may be of another version
    queries: list[tuple[str, tuple[object, ...]]] = [(_FILE_ITEM, ())]
    if piece.line:
        queries.insert(0, (_INNERMOST_AT_LINE, (piece.line, piece.line)))
    if name:
        queries.insert(0, (_NEAREST_NAMED, (name, piece.line)))
    for where, parameters in queries:
        number = index.first_in(file, where, parameters)
        if number is not None:
            return number
    return None


def places_of(query: QueryContext) -> list[int]:
    """Return the items at the file locations the task names."""
    pieces = query.task.keywords.pieces
    return query.cached("places", lambda: [hit.number for hit in places(query.index, pieces)])


def _in_named_file(query: QueryContext) -> Floats:
    """Return 1 for items of the files the task names, else 0."""
    return query.items.by_file({int(query.items.files[number]): 1.0 for number in places_of(query)})


PLACE = Signal(
    "place",
    Stage.FACTOR,
    "pointed at",
    "the task names its file",
    weights={"place": ()},
    generate=_in_named_file,
    is_feature=True,
)


# Path context: types in the folders and files a task mentions. The walk continues to their members.

_SHORTEST = 4  # minimum length of a term that may name a folder
_RICH, _LEAN, _OTHER = 5, 10, 15  # per term: types with members, types without, other items
_TOTAL = 30
_TERM = re.compile(r"[^\W\d_]+")
_TYPES = ", ".join(repr(kind) for kind in sorted(TYPE_KINDS))
# product code before tests, outer before inner; ids make the order total
_ITEMS = (
    f"SELECT s.number, s.kind IN ({_TYPES}), m.members IS NOT NULL, coalesce(m.members, '') FROM symbols s LEFT JOIN "
    "(SELECT owner, group_concat(name, ' ') AS members FROM symbols WHERE file IN ({files}) GROUP BY owner) m ON m.owner = s.id "
    "WHERE s.file IN ({files}) AND s.ordinal >= 0 ORDER BY s.test, length(s.symbol), s.id"
)
_MAX_FILES = 60  # files per term: a folder as large as the project is no place


def path_terms(task: str) -> list[str]:
    """Return the words of a task that may name folders or packages."""
    excluded = STOP_WORDS | ACTION_VERBS | FILLERS
    candidates = (word.lower() for word in _TERM.findall(task))
    return list(dict.fromkeys(word for word in candidates if len(word) >= _SHORTEST and word not in excluded))


def path_context(index: Index, task: str, keywords: Keywords) -> list[int]:
    """Return items under the paths a task mentions: types with members the task names, other types, other items."""
    query = {term for word in keywords.components for term in terms(word)}
    items: dict[int, None] = {}
    for term in path_terms(task):
        files = _files_under(index, term)
        if files:
            items |= dict.fromkeys(_items_in_files(index, files, query - set(terms(term))))
    return list(items)[:_TOTAL]


def _files_under(index: Index, term: str) -> list[int]:
    """Return files with a path segment that starts with the term: `migration` matches `migrations/` too."""
    stem = term.removesuffix("s")
    matches = [
        row.number for path, row in index.files.items() if any(word.startswith(stem) for word in _path_words(path))
    ]
    return matches if len(matches) <= _MAX_FILES else []


def _path_words(path: str) -> Iterable[str]:
    return re.split(r"[/._-]", path.lower())


def _items_in_files(index: Index, files: list[int], query: set[str]) -> list[int]:
    matching: list[int] = []
    with_members: list[int] = []
    without_members: list[int] = []
    other: list[int] = []
    for number, is_type, has_members, members in index.rows_of(_ITEMS, files):
        if not is_type:
            other.append(number)
        elif not has_members:
            without_members.append(number)
        elif query & {term for member in members.split() for word in words(member) for term in terms(word)}:
            matching.append(number)
        else:
            with_members.append(number)
    return (matching + with_members)[:_RICH] + without_members[:_LEAN] + other[:_OTHER]


# Direct hits

_FIRST = 2.0  # boost of what the project itself names for a concept: before everything else
_MAX_BEARERS = 5  # a name with more bearers points at none of them


def _direct_hits(query: QueryContext) -> list[int]:
    return [*places_of(query), *_named(query)]


def project_hits(query: QueryContext) -> list[classes.EquivalenceHit]:
    """Return the targets of the project's own classes that surely match."""
    resources = query.resources
    matched = classes.matches(query.task.task, resources.classes, resources.languages) if resources.classes else []
    sure = [match for match in matched if match.is_sure]
    return classes.resolve(resources.names, sure, len(sure) * _MAX_BEARERS)


def _project_targets(query: QueryContext) -> list[int]:
    return query.cached("project targets", lambda: [hit.number for hit in project_hits(query)])


def _named(query: QueryContext) -> list[int]:
    """Return items the task calls by a rare name, after the targets of surely matching project classes."""
    resources = query.resources
    numbers = [*_project_targets(query)]
    for name in query.task.keywords.literal:
        bearers = [row.number for row in islice(resources.names.exact(name), _MAX_BEARERS + 1)]
        numbers += bearers if len(bearers) <= _MAX_BEARERS else []
    return list(dict.fromkeys(numbers))


def _channel(query: QueryContext, ranking: Ranking) -> dict[str, Channel]:
    return {CANDIDATES.name: Channel(0.0, query.evidence(CANDIDATES))}  # not fused: their gain is an addition


def _gain(query: QueryContext, ranking: Ranking) -> Floats | None:
    """Return a share of the best score, falling with rank; no hit needs a matching term."""
    hits = query.evidence(CANDIDATES)
    if not hits:
        return None
    gain = query.profile.direct_hits * (float(ranking.direct.max()) or 1.0)
    return query.items.by_symbol({number: gain * K / (K + rank) for rank, number in enumerate(hits)})


def _boost(query: QueryContext, ranking: Ranking) -> Floats | None:
    """Return the boosts of items the task points at; targets of the project's own classes come first.

    Without a ranker the others have gained before: their gain is part of the score that it replaces.
    """
    first, profile = _project_targets(query), query.profile
    boosts: dict[int, float] = {}
    if profile.ranker:
        boosts = {
            number: profile.direct_hits * K / (K + rank) for rank, number in enumerate(query.evidence(CANDIDATES))
        }
    boosts |= {number: _FIRST * K / (K + rank) for rank, number in enumerate(first)}
    return query.items.by_symbol(boosts) if boosts else None


CANDIDATES = Signal(
    "direct_hits",
    Stage.CHANNEL,
    "pointed at",
    "named by the task",
    weights={"direct_hits": ()},
    generate=_direct_hits,
    score=_channel,
    is_feature=True,
)
DIRECT_HITS = Signal(
    "direct_hits",
    Stage.ADDITION,
    "pointed at",
    "the task points at it (path, frame or rare name)",
    weights={"direct_hits": ()},
    score=_gain,
)
POINTED_AT = Signal(
    "pointed_at",
    Stage.BOOST,
    "pointed at",
    "the task points at it (path, frame, rare name or class of the project)",
    weights={"direct_hits": ()},
    score=_boost,
)
