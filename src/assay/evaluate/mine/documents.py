"""Golden queries from documents and doc comments of the last commit."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.core.items import item_id
from assay.evaluate.mine import mined as message
from assay.evaluate.mine.mined import Definition, LeftOut, Locator, Mined, Options, Progress, role, tier
from assay.evaluate.mine.mined import repository as repository_at
from assay.git import Blob, Blobs
from assay.text.terms import words

_ATX = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_UNDERLINE = re.compile(r"""([=\-~^"'`+#*:.<>_])\1{2,}\s*$""")
_FENCE = re.compile(r"\s*(```|~~~)")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
# lines that are not prose: directives, fields, tables, images, badges, comments, indented code
_NOT_PROSE = re.compile(r"\.\.(\s|$)|:[\w-]+:(\s|$)|[|!<]|\[!\[|\s{2,}\S|>>>|\$ ")


@dataclass(frozen=True, slots=True)
class Section:
    """The text between two headings, without code blocks."""

    heading: str
    line: int  # of the heading, 1-based
    text: str

    @property
    def opening(self) -> str:
        """Its first paragraph of prose, on one line."""
        for paragraph in re.split(r"\n\s*\n", self.text):
            lines = [line for line in paragraph.split("\n") if line.strip()]
            if lines and not _NOT_PROSE.match(lines[0]):
                return " ".join(" ".join(lines).split())
        return ""


def sections(text: str) -> Iterator[Section]:
    """The sections of a document that have a heading, in its order."""
    text = text.replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    if front:
        text = "\n" * front.group().count("\n") + text[front.end() :]
    lines = text.split("\n")
    code = _fenced(lines)
    starts = [number for number in range(len(lines)) if number not in code and _heading(lines, number)]
    for start, end in pairwise([*starts, len(lines)]):
        body = [line for number, line in enumerate(lines[start + 1 : end], start + 1) if number not in code]
        if body and _UNDERLINE.match(body[0]):
            body = body[1:]
        yield Section(_heading(lines, start), start + 1, "\n".join(body))


def _heading(lines: list[str], number: int) -> str:
    """The heading that a line is; empty for other lines."""
    line = lines[number]
    atx = _ATX.match(line)
    if atx:
        return atx.group(1)
    under = lines[number + 1] if number + 1 < len(lines) else ""
    if line.strip() and not _NOT_PROSE.match(line) and _UNDERLINE.match(under) and not _UNDERLINE.match(line):
        return line.strip()
    return ""


def _fenced(lines: list[str]) -> set[int]:
    """The lines of fenced code blocks, fences included."""
    out: set[int] = set()
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence or found:
            out.add(number)
        if found and not fence:
            fence = found.group(1)
        elif found and found.group(1) == fence:
            fence = ""
    return out


# The repository as its last commit has it: which definitions each source file holds.


class Snapshot:
    """The files of HEAD by role, and their texts."""

    def __init__(self, files: list[Blob], blobs: Blobs) -> None:
        self._files, self._blobs = files, blobs

    @classmethod
    @contextmanager
    def open(cls, repository: Path) -> Iterator[Snapshot]:
        git = repository_at(repository)
        with git.blobs() as blobs:
            yield cls(git.tree(), blobs)

    def texts(self, wanted: str) -> Iterator[tuple[str, str]]:
        """Path and text of every file in a role, by path."""
        for file in self._files:
            if role(file.path) == wanted:
                yield file.path, self._blobs.text(file.id)

    def definitions(
        self, locate: Locator, options: Options, progress: Progress | None
    ) -> Iterator[tuple[str, Definition]]:
        """Path and definition of everything in source files, by path and line; of tests only when they are included."""
        if progress:
            progress.start("reading", sum(role(file.path) == "source" for file in self._files))
        for path, text in self.texts("source"):
            if progress:
                progress.advance()
            for found in sorted(locate(path, text), key=lambda d: (d.start, -d.end)):
                if options.include_tests or not found.test:
                    yield path, found


# Queries from documents: a section's opening asks, the symbols the section names in backticks answer.

MAX_NAMES = 8  # a section that names more is a reference or a list
_PROSE = re.compile(r"\.(md|mdx|markdown|rst|txt)$", re.I)
_CHRONICLE = re.compile(r"(^|/)(change(s|log)|history|news|release[-_ ]?notes|upgrading)[^/]*$", re.I)
_QUOTED = re.compile(r"`+([^`\n]+?)`+")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*")
_PLAIN_WORD = re.compile(r"[a-z]+|[A-Z]+")  # in backticks as likely a word, a flag or a key as a symbol
_SEPARATOR = re.compile(r"\.|::|#")


class Names:
    """Which definition a written name means, if exactly one."""

    def __init__(self, definitions: Iterable[tuple[str, Definition]]) -> None:
        self._by_last: dict[str, list[tuple[str, Definition]]] = defaultdict(list)
        for path, found in definitions:
            self._by_last[_parts(found.symbol)[-1]].append((path, found))

    def meant(self, written: str) -> tuple[str, Definition] | None:
        """The one definition whose qualified name ends with what is written, or which a module in its path completes to that."""
        name = written.removesuffix("()")
        if not _NAME.fullmatch(name) or _PLAIN_WORD.fullmatch(written):
            return None
        asked = _parts(name)
        fitting = [(path, found) for path, found in self._by_last.get(asked[-1], ()) if _fits(asked, path, found)]
        return fitting[0] if len(fitting) == 1 else None


def _parts(name: str) -> list[str]:
    return _SEPARATOR.split(name)


def _fits(asked: list[str], path: str, found: Definition) -> bool:
    """`Flask.run` fits the symbol Flask.run; so does `flask.app.Flask.run` when it stands in flask/app.py.

    A member's bare name fits when it has several words, as `before_request`: `New` may be anybody's.
    """
    own = _parts(found.symbol)
    if len(asked) == 1 < len(own) and len(words(asked[0])) == 1:
        return False
    if len(asked) <= len(own):
        return own[-len(asked) :] == asked
    modules = asked[: -len(own)]
    return asked[-len(own) :] == own and all(module in re.split(r"[/.]", path) for module in modules)


def mine_documents(
    repository: Path, locate: Locator, options: Options | None = None, progress: Progress | None = None
) -> Mined:
    """One query per section of HEAD's documents that names symbols, by path and line, and why the other sections make none."""
    options = options or Options()
    queries: list[GoldenQuery] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    with Snapshot.open(repository) as snapshot:
        names = Names(snapshot.definitions(locate, options, progress))
        for path, text in snapshot.texts("document"):
            if not _PROSE.search(path) or _CHRONICLE.search(path):
                continue
            for section in sections(text):
                try:
                    query = _query(path, section, names, options)
                    message.require_new(query.text, seen)
                except LeftOut as reason:
                    counts[str(reason)] += 1
                    continue
                queries.append(query)
    return Mined(queries[: options.limit or None], dict(sorted(counts.items())))


def _query(path: str, section: Section, names: Names, options: Options) -> GoldenQuery:
    """The query a section makes."""
    written = [
        one.removeprefix("~").removeprefix(".") for one in _QUOTED.findall(section.heading + "\n" + section.text)
    ]
    gold = {found.symbol: (file, found) for file, found in filter(None, map(names.meant, written))}
    if not 0 < len(gold) <= MAX_NAMES:
        raise LeftOut(f"names more than {MAX_NAMES} symbols" if gold else "names no symbol")
    files = sorted({file for file, _ in gold.values()})
    opening = section.opening
    message.require_words(opening, options.min_words)
    text = message.tidy(f"{section.heading}\n\n{opening}")
    if options.strip_names:
        text = message.without_names(text, gold, files)
        message.require_words(text, options.min_words)
    return GoldenQuery(
        id=f"{path}:{section.line}",
        text=text,
        expected=(*(Expected(name) for name in gold), *(Expected(file, "file") for file in files)),
        tier=tier(files),
        category="document",
        tags=tuple(sorted({found.language for _, found in gold.values() if found.language})),
        notes=f"{path}:{section.line}",
    )


# Queries from doc comments: the first paragraph asks, the symbol it describes answers.

HELD_OUT = "held-out"
_TAG = re.compile(r"[@:\\]\w|<\w+|TODO|FIXME|XXX|\.\. |Copyright|Licen[sc]e|SPDX", re.I)
_MARK = re.compile(r"^:(?:[ \t]|$)", re.M)  # what Sphinx's `#:` comments leave at the start of each line
_PARAGRAPH = re.compile(r"\n\s*\n")


def mine_docstrings(
    repository: Path, locate: Locator, options: Options | None = None, progress: Progress | None = None
) -> Mined:
    """One query per documented symbol of HEAD, by path and line, and why the other documented symbols make none."""
    options = options or Options()
    counts: Counter[str] = Counter()
    asked: dict[str, list[GoldenQuery]] = defaultdict(list)
    with Snapshot.open(repository) as snapshot:
        for path, found in snapshot.definitions(locate, options, progress):
            if not found.doc.strip():
                continue
            try:
                query = _docstring_query(path, found, options)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            asked[message.fingerprint(query.text)].append(query)
    queries: dict[str, GoldenQuery] = {}  # one for a getter and its setter, and for other definitions of the same name
    for same in asked.values():
        # the same words about several symbols ask for none of them
        if len({query.id for query in same}) == 1:
            queries.setdefault(same[0].id, same[0])
        else:
            counts["duplicate text"] += len(same)
    return Mined(list(queries.values())[: options.limit or None], dict(sorted(counts.items())))


def _docstring_query(path: str, found: Definition, options: Options) -> GoldenQuery:
    """The query a documented symbol makes."""
    paragraph = _PARAGRAPH.split(_MARK.sub("", found.doc).strip(), maxsplit=1)[0]
    text = message.tidy(" ".join(paragraph.split()))
    if _TAG.match(text):
        raise LeftOut("starts with a tag")
    if options.strip_names:
        text = message.without_names(text, [found.symbol], [path])
    message.require_words(text, options.min_words)
    where = item_id(path, found.symbol)
    return GoldenQuery(
        id=where,
        text=text,
        expected=(Expected(found.symbol), Expected(path, "file")),
        tier="easy",
        category="docstring",
        tags=(found.language, HELD_OUT) if options.held_out else (found.language,),
        notes=f"hide the doc comment of {where} from the index" if options.held_out else f"{path}:{found.start}",
    )
