"""TREC sets: topics (SGML, tab-separated, SMART) and a qrels file."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden.beir import Judgements, Topic, join
from assay.evaluate.golden.format import Format, Rendered, as_documents, fit
from assay.evaluate.golden.nodes import Problems, Unreadable, read_head, read_lines, read_text

# Bounded, and without a search for the end at every beginning, so that no file takes quadratic time.
_OPENING = re.compile(r"<(top|topic)\b([^>]{0,200})>", re.IGNORECASE)
_CLOSING = {"top": re.compile("</top>", re.IGNORECASE), "topic": re.compile("</topic>", re.IGNORECASE)}
_HEAD = 4096  # characters that tell the kind of a file
_NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_PART = re.compile(r"<(num|title|query|desc|description)\b[^>]{0,200}>([^<]*)", re.IGNORECASE)
_LABEL = re.compile(r"\s*(Number|Topic|Description)\s*:\s*", re.IGNORECASE)
_RECORD = re.compile(r"^\.I\b", re.MULTILINE)
_SPACES = re.compile(r"\s+")


def is_sgml(head: str) -> bool:
    return head.lstrip().startswith("<") and bool(re.search(r"<(top|topic)\b", head, re.IGNORECASE))


def is_smart(head: str) -> bool:
    """Queries have a text right after their number; documents have a title there."""
    return bool(re.match(r"\s*\.I\b[^\n]*\n\.W", head))


def is_tabbed(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    return first.count("\t") == 1 and all(part.strip() for part in first.split("\t"))


def topics(text: str) -> Iterator[Topic]:
    """The topics of a file, whatever its kind."""
    head = text[:_HEAD]
    return next(read for is_one, read in _KINDS if is_one(head))(text)


def is_topics(head: str) -> bool:
    return any(is_one(head) for is_one, _ in _KINDS)


def _sgml(text: str) -> Iterator[Topic]:
    """`<top> <num> Number: 301 <title> … <desc> Description: …`; the title is what is asked, else the description."""
    at, lines, closing = 0, _Lines(text), dict(_CLOSING)  # a kind that is not closed any more is left out
    while opening := _OPENING.search(text, at):
        kind = opening[1].lower()
        closed = closing[kind].search(text, opening.end()) if kind in closing else None
        if closed is None:
            at = opening.end()
            closing.pop(kind, None)
            continue
        at, line = closed.end(), lines.at(opening.start())
        parts = {name.lower()[:4]: _clean(value) for name, value in _PART.findall(text[opening.end() : closed.start()])}
        number = _NUMBER.search(opening[2])
        name = parts.get("num") or (number[1] if number else "")
        if not name:
            raise Unreadable(line, "a topic needs `<num>`")
        description = parts.get("desc", "")
        title = parts.get("titl") or parts.get("quer") or description
        yield Topic(name, title, line, notes=description if description != title else "")


def _clean(value: str) -> str:
    return _SPACES.sub(" ", html.unescape(_LABEL.sub("", value, count=1))).strip()


def _tabbed(text: str) -> Iterator[Topic]:
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        name, tab, asked = line.partition("\t")
        if line.strip() and not line.startswith("#"):
            if not tab or not name.strip():
                raise Unreadable(number, "a topic is an id, a tab and a text")
            yield Topic(name.strip(), asked.strip(), number)


def _smart(text: str) -> Iterator[Topic]:
    """Numbered by position: the judgements of Cranfield count its questions, their own numbers have gaps."""
    lines = _Lines(text)
    starts = [found.start() for found in _RECORD.finditer(text)]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        _, _, asked = text[start:end].partition("\n.W")
        yield Topic(str(number), _SPACES.sub(" ", asked).strip(), lines.at(start))


class _Lines:
    """Line numbers of places that are asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1

    def at(self, place: int) -> int:
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


_KINDS: tuple[tuple[Callable[[str], bool], Callable[[str], Iterator[Topic]]], ...] = (
    (is_sgml, _sgml),
    (is_smart, _smart),
    (is_tabbed, _tabbed),
)


# TREC sets: topics, and a qrels file of judgements beside them.

_TOPICS_BY_NAME = re.compile(r"topic|quer|qry|question", re.IGNORECASE)


def _is_qrels(path: Path) -> bool:
    """Four columns of which the last is a number; whether it is a good one is for the reader to say."""
    first = next((line for line in read_head(path).split("\n") if line.strip() and not line.startswith("#")), "")
    columns = first.split()
    if len(columns) != 4 or first.count("\t") == 1:
        return False
    try:
        float(columns[3])
    except ValueError:
        return False
    return True


def _visible(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _detect(path: Path) -> bool:
    return any(map(_is_qrels, _visible(path))) if path.is_dir() else _is_qrels(path)


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    qrels = _the_one("qrels file", [file for file in _visible(path) if _is_qrels(file)]) if path.is_dir() else path
    beside = [file for file in _visible(qrels.parent) if file != qrels and is_topics(read_head(file))]
    asked = _the_one("topics file", [file for file in beside if _TOPICS_BY_NAME.search(file.name)] or beside)
    judgements = _judgements(qrels, problems)
    try:
        return join(topics(read_text(asked)), asked, judgements, problems)
    except Unreadable as reason:
        problems.unreadable(asked, reason)
        return []


def _the_one(what: str, files: list[Path]) -> Path:
    if not files:
        raise Unreadable(0, f"no {what} was found; a TREC set needs topics and a qrels file in one folder")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise Unreadable(
            0, f"more than one {what}: {names}; give the path of the qrels file, with one topics file beside it"
        )
    return files[0]


def _judgements(path: Path, problems: Problems) -> Judgements:
    judgements = Judgements(path, problems)
    for number, line in read_lines(path):
        columns = line.split()
        if not columns or line.startswith("#"):
            continue
        if len(columns) != 4:
            problems.error(path, number, f"needs 4 columns (query, iteration, document, grade), has {len(columns)}")
        else:
            query, _, document, grade = columns
            judgements.add(query, document, grade, number)
    return judgements


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    documents, said = as_documents(queries)
    kept, lost = fit(documents, ("doc",))
    rows = [(query.id, one.name, one.grade) for query in kept for one in query.expected]
    broken = next((name for row in rows for name in row[:2] if name.split() != [name] or name.startswith("#")), None)
    if broken is not None:
        raise Unreadable(
            0, f"the id {broken!r} holds a space or begins with #, which TREC files cannot hold; convert to beir"
        )
    texts = {query.id: " ".join(query.text.split()) for query in kept}
    if changed := sum(texts[query.id] != query.text for query in kept):
        lost.append(f"{changed} of {len(queries)} queries: line breaks and repeated spaces of the text not kept")
    files = {
        "topics.tsv": "".join(f"{name}\t{text}\n" for name, text in texts.items()),
        "qrels.txt": "".join(f"{name} 0 {document} {grade}\n" for name, document, grade in rows),
    }
    return Rendered(files, said + lost)


TREC = Format(
    "trec", "folder with topics and a qrels file (or the path of the qrels file)", _detect, _read, _render, folder=True
)
