"""Golden queries from documents and doc comments at HEAD."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.core.golden import Expected, GoldenQuery
from assay.core.items import item_id
from assay.core.progress import Progress
from assay.evaluate.mine import mined
from assay.evaluate.mine.mined import DEFAULTS, SILENT, Definition, LeftOut, Locator, Mined, Options, role, tier
from assay.evaluate.mine.mined import repository as repository_at
from assay.git import Blob, Blobs
from assay.text.markup import front_matter, outline
from assay.text.terms import words

# directives, fields, tables, images, badges, comments, indented code
_NOT_PROSE = re.compile(r"\.\.(\s|$)|:[\w-]+:(\s|$)|[|!<]|\[!\[|\s{2,}\S|>>>|\$ ")


@dataclass(frozen=True, slots=True)
class Section:
    """The text between two headings, without code blocks."""

    heading: str
    line: int  # of the heading, 1-based
    text: str

    @property
    def opening(self) -> str:
        """First paragraph of prose, on one line."""
        for paragraph in _PARAGRAPH.split(self.text):
            lines = [line for line in paragraph.split("\n") if line.strip()]
            if lines and not _NOT_PROSE.match(lines[0]):
                return " ".join(" ".join(lines).split())
        return ""


def sections(text: str, markup: str) -> Iterator[Section]:
    """Yield the sections of a document that have a heading, in order."""
    lines = text.replace("\r\n", "\n").split("\n")
    outlined = outline(lines, markup, front_matter(lines)[1])
    ends = [*(heading.line for heading in outlined.headings[1:]), len(lines)]
    for heading, end in zip(outlined.headings, ends, strict=False):  # no heading, no section
        body = [lines[number] for number in range(heading.last + 1, end) if number not in outlined.code]
        title = lines[heading.title_line].strip(" \t#")  # with its markup: names in backticks are gold
        yield Section(title, heading.title_line + 1, "\n".join(body))


# the repository at HEAD


class Snapshot:
    """Files of HEAD by role, with their texts."""

    def __init__(self, files: list[Blob], blobs: Blobs) -> None:
        self._files, self._blobs = files, blobs

    @classmethod
    @contextmanager
    def open(cls, repository: Path) -> Iterator[Snapshot]:
        git = repository_at(repository)
        with git.blobs() as blobs:
            yield cls(git.tree(), blobs)

    def texts(self, wanted_role: str) -> Iterator[tuple[str, str]]:
        """Yield path and text of every file with a role, by path."""
        for file in self._files:
            if role(file.path) == wanted_role:
                yield file.path, self._blobs.text(file.id)

    def definitions(self, locate: Locator, options: Options, progress: Progress) -> Iterator[tuple[str, Definition]]:
        """Yield path and definition of all source files, by path and line; tests only when included."""
        progress.start("reading", sum(role(file.path) == "source" for file in self._files))
        for path, text in self.texts("source"):
            progress.advance()
            for definition in sorted(locate(path, text), key=lambda item: (item.start, -item.end)):
                if options.include_tests or not definition.test:
                    yield path, definition


# documents: the query is a section's opening, the gold the symbols named in backticks

MAX_NAMES = 8  # more names mean a reference or a list
_MARKUP = {".md": "markdown", ".mdx": "markdown", ".markdown": "markdown", ".rst": "rst", ".txt": "text"}
_CHANGELOG = re.compile(r"(^|/)(change(s|log)|history|news|release[-_ ]?notes|upgrading)[^/]*$", re.I)
_QUOTED = re.compile(r"(?<!`)`+([^`\n]+)`+")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*")
_PLAIN_WORD = re.compile(r"[a-z]+|[A-Z]+")  # in backticks it may be a word, a flag or a key, not a symbol
_SEPARATOR = re.compile(r"\.|::|#")


class Names:
    """Definitions by name, for resolving names in prose."""

    def __init__(self, definitions: Iterable[tuple[str, Definition]]) -> None:
        self._by_last: dict[str, list[tuple[str, Definition]]] = defaultdict(list)
        for path, definition in definitions:
            self._by_last[_parts(definition.symbol)[-1]].append((path, definition))

    def meant(self, written: str) -> tuple[str, Definition] | None:
        """Return the only definition whose qualified name (or module path and name) ends with the written name."""
        name = written.removesuffix("()")
        if not _NAME.fullmatch(name) or _PLAIN_WORD.fullmatch(written):
            return None
        parts = _parts(name)
        candidates = [
            (path, definition)
            for path, definition in self._by_last.get(parts[-1], ())
            if _matches_definition(parts, path, definition)
        ]
        return candidates[0] if len(candidates) == 1 else None


def _parts(name: str) -> list[str]:
    return _SEPARATOR.split(name)


def _matches_definition(parts: list[str], path: str, definition: Definition) -> bool:
    """Return True when the written name denotes the definition.

    `Flask.run` matches the symbol Flask.run; so does `flask.app.Flask.run` when it is defined in flask/app.py.
    A member's bare name must have several words, as `before_request`: `New` is too ambiguous.
    """
    symbol_parts = _parts(definition.symbol)
    if len(parts) == 1 < len(symbol_parts) and len(words(parts[0])) == 1:
        return False
    if len(parts) <= len(symbol_parts):
        return symbol_parts[-len(parts) :] == parts
    modules = parts[: -len(symbol_parts)]
    return parts[-len(symbol_parts) :] == symbol_parts and all(module in re.split(r"[/.]", path) for module in modules)


def mine_documents(
    repository: Path, locate: Locator, options: Options = DEFAULTS, progress: Progress = SILENT
) -> Mined:
    """Return one query per section of HEAD's documents that names symbols, and skip counts by reason."""
    queries: list[GoldenQuery] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    with Snapshot.open(repository) as snapshot:
        names = Names(snapshot.definitions(locate, options, progress))
        for path, text in snapshot.texts("document"):
            markup = _MARKUP.get(PurePosixPath(path).suffix.lower())
            if not markup or _CHANGELOG.search(path):
                continue
            for section in sections(text, markup):
                try:
                    query = _query(path, section, names, options)
                    mined.require_new(query.text, seen)
                except LeftOut as reason:
                    counts[str(reason)] += 1
                    continue
                queries.append(query)
    return Mined(queries[: options.limit or None], dict(sorted(counts.items())))


def _query(path: str, section: Section, names: Names, options: Options) -> GoldenQuery:
    """Build the query of a section; raise LeftOut when it yields none."""
    mentioned = [
        name.removeprefix("~").removeprefix(".") for name in _QUOTED.findall(section.heading + "\n" + section.text)
    ]
    gold = {definition.symbol: (file, definition) for file, definition in filter(None, map(names.meant, mentioned))}
    if not 0 < len(gold) <= MAX_NAMES:
        raise LeftOut(f"names more than {MAX_NAMES} symbols" if gold else "names no symbol")
    files = sorted({file for file, _ in gold.values()})
    opening = section.opening
    mined.require_words(opening, options.min_words)
    text = mined.tidy(f"{section.heading}\n\n{opening}")
    if options.strip_names:
        text = mined.without_names(text, gold, files)
        mined.require_words(text, options.min_words)
    return GoldenQuery(
        id=f"{path}:{section.line}",
        text=text,
        expected=(*(Expected(name) for name in gold), *(Expected(file, "file") for file in files)),
        tier=tier(files),
        category="document",
        tags=tuple(sorted({definition.language for _, definition in gold.values() if definition.language})),
        notes=f"{path}:{section.line}",
    )


# doc comments: the query is the first paragraph, the gold the documented symbol

HELD_OUT = "held-out"
_TAG = re.compile(r"[@:\\]\w|<\w+|TODO|FIXME|XXX|\.\. |Copyright|Licen[sc]e|SPDX", re.I)
_SPHINX_COLON = re.compile(r"^:(?:[ \t]|$)", re.M)  # left by Sphinx's `#:` comments at the start of each line
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*+\n)+")


def mine_docstrings(
    repository: Path, locate: Locator, options: Options = DEFAULTS, progress: Progress = SILENT
) -> Mined:
    """Return one query per documented symbol of HEAD, by path and line, and skip counts by reason."""
    counts: Counter[str] = Counter()
    by_fingerprint: dict[str, list[GoldenQuery]] = defaultdict(list)
    with Snapshot.open(repository) as snapshot:
        for path, definition in snapshot.definitions(locate, options, progress):
            if not definition.doc.strip():
                continue
            try:
                query = _docstring_query(path, definition, options)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            by_fingerprint[mined.fingerprint(query.text)].append(query)
    queries: dict[str, GoldenQuery] = {}  # one per id: a getter and its setter share it
    for duplicates in by_fingerprint.values():
        # the same text for several symbols identifies none of them
        if len({query.id for query in duplicates}) == 1:
            queries.setdefault(duplicates[0].id, duplicates[0])
        else:
            counts["duplicate text"] += len(duplicates)
    return Mined(list(queries.values())[: options.limit or None], dict(sorted(counts.items())))


def _docstring_query(path: str, definition: Definition, options: Options) -> GoldenQuery:
    """Build the query of a documented symbol; raise LeftOut when it yields none."""
    paragraph = _PARAGRAPH.split(_SPHINX_COLON.sub("", definition.doc).strip(), maxsplit=1)[0]
    text = mined.tidy(" ".join(paragraph.split()))
    if _TAG.match(text):
        raise LeftOut("starts with a tag")
    if options.strip_names:
        text = mined.without_names(text, [definition.symbol], [path])
    mined.require_words(text, options.min_words)
    symbol_id = item_id(path, definition.symbol)
    return GoldenQuery(
        id=symbol_id,
        text=text,
        expected=(Expected(definition.symbol), Expected(path, "file")),
        tier="easy",
        category="docstring",
        tags=(definition.language, HELD_OUT) if options.held_out else (definition.language,),
        notes=f"hide the doc comment of {symbol_id} from the index"
        if options.held_out
        else f"{path}:{definition.start}",
    )
