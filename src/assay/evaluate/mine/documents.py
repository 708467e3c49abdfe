"""Queries from documents: a section's opening asks, the symbols the section names in backticks answer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.mine import message
from assay.evaluate.mine.definitions import Definition, Locator
from assay.evaluate.mine.mined import LeftOut, Mined, Options, Progress
from assay.evaluate.mine.paths import tier
from assay.evaluate.mine.sections import Section, sections
from assay.evaluate.mine.snapshot import Snapshot
from assay.text.identifiers import words

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
