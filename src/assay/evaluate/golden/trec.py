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

# Bounded repeats, and closing tags searched at most once per kind: no file takes quadratic time.
_OPENING = re.compile(r"<(top|topic)\b([^>]{0,200})>", re.IGNORECASE)
_CLOSING = {"top": re.compile("</top>", re.IGNORECASE), "topic": re.compile("</topic>", re.IGNORECASE)}
_HEAD = 4096  # characters read to detect the kind of file
_NUMBER_ATTRIBUTE = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_TOPIC_FIELD = re.compile(r"<(num|title|query|desc|description)\b[^>]{0,200}>([^<]*)", re.IGNORECASE)
_FIELD_LABEL = re.compile(r"\s*(Number|Topic|Description)\s*:\s*", re.IGNORECASE)
_SMART_RECORD = re.compile(r"^\.I\b", re.MULTILINE)
_SPACES = re.compile(r"\s+")


def is_sgml(head: str) -> bool:
    return head.lstrip().startswith("<") and bool(re.search(r"<(top|topic)\b", head, re.IGNORECASE))


def is_smart(head: str) -> bool:
    """Return True for SMART queries: text (.W) right after the number; documents have a title there."""
    return bool(re.match(r"\s*\.I\b[^\n]*\n\.W", head))


def is_tabbed(head: str) -> bool:
    first = next((line for line in head.split("\n") if line.strip()), "")
    return first.count("\t") == 1 and all(part.strip() for part in first.split("\t"))


def topics(text: str) -> Iterator[Topic]:
    """Parse the topics of a file in any of the three kinds."""
    head = text[:_HEAD]
    return next(read for is_kind, read in _KINDS if is_kind(head))(text)


def is_topics(head: str) -> bool:
    return any(is_kind(head) for is_kind, _ in _KINDS)


def _read_sgml(text: str) -> Iterator[Topic]:
    """Parse `<top> <num> Number: 301 <title> … <desc> …`; the query is the title, else the description."""
    position, lines, closing = 0, _LineCounter(text), dict(_CLOSING)  # a kind without further closing tags is removed
    while opening := _OPENING.search(text, position):
        kind = opening[1].lower()
        end_tag = closing[kind].search(text, opening.end()) if kind in closing else None
        if end_tag is None:
            position = opening.end()
            closing.pop(kind, None)
            continue
        position, line = end_tag.end(), lines.at(opening.start())
        parts = {
            tag.lower()[:4]: _clean_field(value)
            for tag, value in _TOPIC_FIELD.findall(text[opening.end() : end_tag.start()])
        }
        number = _NUMBER_ATTRIBUTE.search(opening[2])
        topic_id = parts.get("num") or (number[1] if number else "")
        if not topic_id:
            raise Unreadable(line, "a topic needs `<num>`")
        description = parts.get("desc", "")
        title = parts.get("titl") or parts.get("quer") or description
        yield Topic(topic_id, title, line, notes=description if description != title else "")


def _clean_field(value: str) -> str:
    return _SPACES.sub(" ", html.unescape(_FIELD_LABEL.sub("", value, count=1))).strip()


def _read_tabbed(text: str) -> Iterator[Topic]:
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        topic_id, tab, query = line.partition("\t")
        if line.strip() and not line.startswith("#"):
            if not tab or not topic_id.strip():
                raise Unreadable(number, "a topic is an id, a tab and a text")
            yield Topic(topic_id.strip(), query.strip(), number)


def _read_smart(text: str) -> Iterator[Topic]:
    """Parse SMART queries, numbered by position: Cranfield's qrels count queries, whose own numbers have gaps."""
    lines = _LineCounter(text)
    starts = [match.start() for match in _SMART_RECORD.finditer(text)]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        _, _, query = text[start:end].partition("\n.W")
        yield Topic(str(number), _SPACES.sub(" ", query).strip(), lines.at(start))


class _LineCounter:
    """Line numbers of ascending text positions."""

    def __init__(self, text: str) -> None:
        self._text, self._position, self._line = text, 0, 1

    def at(self, position: int) -> int:
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line


_KINDS: tuple[tuple[Callable[[str], bool], Callable[[str], Iterator[Topic]]], ...] = (
    (is_sgml, _read_sgml),
    (is_smart, _read_smart),
    (is_tabbed, _read_tabbed),
)


# a set: topics and a qrels file in one folder

_TOPICS_BY_NAME = re.compile(r"topic|quer|qry|question", re.IGNORECASE)


def _is_qrels(path: Path) -> bool:
    """Return True for four columns with a numeric last one; the reader validates the grade."""
    first = next((line for line in read_head(path).split("\n") if line.strip() and not line.startswith("#")), "")
    columns = first.split()
    if len(columns) != 4 or first.count("\t") == 1:
        return False
    try:
        float(columns[3])
    except ValueError:
        return False
    return True


def _visible_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _detect(path: Path) -> bool:
    return any(map(_is_qrels, _visible_files(path))) if path.is_dir() else _is_qrels(path)


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    qrels = (
        _require_single("qrels file", [file for file in _visible_files(path) if _is_qrels(file)])
        if path.is_dir()
        else path
    )
    candidates = [file for file in _visible_files(qrels.parent) if file != qrels and is_topics(read_head(file))]
    topics_file = _require_single(
        "topics file", [file for file in candidates if _TOPICS_BY_NAME.search(file.name)] or candidates
    )
    judgements = _read_judgements(qrels, problems)
    try:
        return join(topics(read_text(topics_file)), topics_file, judgements, problems)
    except Unreadable as reason:
        problems.unreadable(topics_file, reason)
        return []


def _require_single(role: str, files: list[Path]) -> Path:
    if not files:
        raise Unreadable(0, f"no {role} was found; a TREC set needs topics and a qrels file in one folder")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise Unreadable(
            0, f"more than one {role}: {names}; give the path of the qrels file, with one topics file beside it"
        )
    return files[0]


def _read_judgements(path: Path, problems: Problems) -> Judgements:
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
    documents, notes = as_documents(queries)
    writable, lost = fit(documents, ("doc",))
    rows = [(query.id, expected.name, expected.grade) for query in writable for expected in query.expected]
    bad_id = next((name for row in rows for name in row[:2] if name.split() != [name] or name.startswith("#")), None)
    if bad_id is not None:
        raise Unreadable(
            0, f"the id {bad_id!r} holds a space or begins with #, which TREC files cannot hold; convert to beir"
        )
    texts = {query.id: " ".join(query.text.split()) for query in writable}
    if changed := sum(texts[query.id] != query.text for query in writable):
        lost.append(f"{changed} of {len(queries)} queries: line breaks and repeated spaces of the text not kept")
    files = {
        "topics.tsv": "".join(f"{name}\t{text}\n" for name, text in texts.items()),
        "qrels.txt": "".join(f"{name} 0 {document} {grade}\n" for name, document, grade in rows),
    }
    return Rendered(files, notes + lost)


TREC = Format(
    "trec", "folder with topics and a qrels file (or the path of the qrels file)", _detect, _read, _render, folder=True
)
