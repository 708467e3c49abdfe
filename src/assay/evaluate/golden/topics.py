"""TREC and BEIR sets: topics and their judgements in separate files.

topics · judgements ──▶ join ──▶ queries with graded documents
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden.format import (
    Format,
    Problems,
    Rendered,
    as_documents,
    fit,
    read_head,
    read_lines,
    read_text,
    without_gz,
)
from assay.evaluate.golden.nodes import Unreadable
from assay.evaluate.golden.records import MAX_GRADE
from assay.text.display import collapsed

MOST_ROWS = 2_000_000  # per file: four times the largest public set; a row takes about 250 bytes
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Topic:
    """A query as read from its file."""

    id: str
    text: str
    line: int
    notes: str = ""


@dataclass(slots=True)
class Judgements:
    """Grades by query and document, each with its line number."""

    path: Path
    problems: Problems
    grades: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    count: int = 0
    repeated: list[int] = field(default_factory=list)  # lines that repeat an earlier judgement

    def add(self, query: str, document: str, grade: str, line: int) -> None:
        """Add a judgement. A duplicate counts once; with another grade it is an error."""
        if not _INTEGER.fullmatch(grade) or abs(int(grade)) > MAX_GRADE:
            self.problems.error(
                self.path, line, f"the grade must be a whole number between -{MAX_GRADE} and {MAX_GRADE}, not `{grade}`"
            )
            return
        self.count += 1
        if self.count > MOST_ROWS:
            raise Unreadable(line, f"more than {MOST_ROWS:,} judgements, which is the limit", self.path)
        first = self.grades.setdefault(query, {}).setdefault(document, (int(grade), line))
        if first[0] != int(grade):
            self.problems.error(
                self.path, line, f"document `{document}` of query `{query}` has another grade in line {first[1]}"
            )
        elif first[1] != line:
            self.repeated.append(line)

    def add_row(
        self,
        columns: Sequence[str],
        names: Sequence[str],
        line: int,
        separator: str = "",
        order: Sequence[int] = (0, -2, -1),
    ) -> None:
        """Add a row with query, document and grade at the places of `order`; report one with another number of columns."""
        if len(columns) != len(names):
            expected = f"{len(names)} columns{separator} ({', '.join(names)})"
            self.problems.error(self.path, line, f"needs {expected}, has {len(columns)}")
        else:
            query, document, grade = (columns[at] for at in order)
            self.add(query, document, grade, line)


def join(topics: Iterable[Topic], path: Path, judgements: Judgements, problems: Problems) -> list[GoldenQuery]:
    """Return the judged topics; warn about topics without judgements and judgements without a topic."""
    line_by_id: dict[str, int] = {}
    queries: list[GoldenQuery] = []
    for topic in topics:
        first_line = line_by_id.setdefault(topic.id, topic.line)
        if len(line_by_id) > MOST_ROWS:
            raise Unreadable(topic.line, f"more than {MOST_ROWS:,} queries, which is the limit", path)
        if first_line != topic.line:
            problems.error(path, topic.line, f"id `{topic.id}` is used twice, first in line {first_line}")
        elif not topic.text.strip():
            problems.error(path, topic.line, f"the text of query `{topic.id}` is empty")
        elif topic.id in judgements.grades:
            expected = tuple(Expected(name, "doc", grade) for name, (grade, _) in judgements.grades[topic.id].items())
            queries.append(GoldenQuery(topic.id, topic.text, expected, notes=topic.notes, where=f"{path}:{topic.line}"))
    unmatched = [query for query in judgements.grades if query not in line_by_id]
    total = sum(map(len, judgements.grades.values()))
    foreign = sum(len(judgements.grades[query]) for query in unmatched)
    belong = f"{foreign} of {total} judgements belong to no query of {path.name}"
    swapped = sum(document in line_by_id for documents in judgements.grades.values() for document in documents)
    if foreign * 2 > total and not problems.errors and swapped >= 0.9 * total:
        message = f"{belong}, but their documents have ids of its queries: columns swapped? The query comes first"
        problems.error(judgements.path, 0, message)
    elif not queries and not problems.errors and line_by_id and unmatched:
        problems.error(
            judgements.path,
            0,
            f"judges none of the queries of {path}: ids there are like `{next(iter(line_by_id))}`, here like `{unmatched[0]}`",
        )
    elif unmatched:
        most = f"; {belong}: columns swapped?" if foreign * 2 > total else ""
        problems.warn(
            f"{judgements.path}: judges {len(unmatched)} queries that {path.name} does not have, e.g. `{unmatched[0]}`{most}"
        )
    if judgements.repeated:
        problems.warn(
            f"{judgements.path}:{judgements.repeated[0]}: {len(judgements.repeated)} repeated judgements are counted once"
        )
    if len(queries) < len(line_by_id):
        problems.warn(
            f"{path}: {len(line_by_id) - len(queries)} queries without judgements in {judgements.path.name} are left out"
        )
    return queries


def _document_rows(
    queries: Sequence[GoldenQuery], is_writable: Callable[[str], bool], problem: str
) -> tuple[list[GoldenQuery], list[tuple[str, str, int]], list[str]]:
    """Return the queries with documents as expectations, their (query, document, grade) rows, and what is lost.

    Raise Unreadable with `problem` for an id that the format cannot hold.
    """
    documents, notes = as_documents(queries)
    writable, lost = fit(documents, ("doc",))
    rows = [(query.id, expected.name, expected.grade) for query in writable for expected in query.expected]
    bad_id = next((name for row in rows for name in row[:2] if not is_writable(name)), None)
    if bad_id is not None:
        raise Unreadable(0, f"the id {bad_id!r} {problem}")
    return writable, rows, notes + lost


# BEIR: queries.jsonl, and judgements per split in qrels/

_QUERY_FILES = ("queries.jsonl", "queries.jsonl.gz")
_COLUMNS = ("query-id", "corpus-id", "score")
# names of each column in public sets, without case, hyphens and underscores
_HEADERS = (
    {"queryid", "query", "qid", "topic", "topicid"},
    {"corpusid", "docid", "documentid", "document", "doc", "docno", "pid", "passageid"},
    {"score", "relevance", "label", "grade", "rel"},
)
_DEFAULT_SPLIT = "test"  # the split that results are published on


class _Query(msgspec.Struct):
    """A line of queries.jsonl. Further fields of public sets are ignored."""

    _id: str | int
    text: str


def _set_folder(path: Path) -> Path:
    """Return the folder of a set; the path may also name queries.jsonl or a split."""
    if path.is_dir():
        return path
    return path.parent.parent if path.parent.name == "qrels" else path.parent


def _queries_file(folder: Path) -> Path | None:
    return next((folder / name for name in _QUERY_FILES if (folder / name).is_file()), None)


def _is_beir(path: Path) -> bool:
    folder = _set_folder(path)
    names_set = path.is_dir() or path.parent.name == "qrels" or path.name in _QUERY_FILES
    return names_set and _queries_file(folder) is not None and (folder / "qrels").is_dir()


def _qrels_file(path: Path) -> Path:
    """Return the qrels file of a path: the split it names, else test, else the only one."""
    if path.is_file() and path.parent.name == "qrels":
        return path
    folder = _set_folder(path) / "qrels"
    splits = sorted(file for file in folder.glob("*") if without_gz(file).endswith(".tsv"))
    candidates = [file for file in splits if without_gz(file) == f"{_DEFAULT_SPLIT}.tsv"] or splits
    if not candidates:
        raise Unreadable(0, f"has no {_DEFAULT_SPLIT}.tsv", folder)
    if len(candidates) > 1 and without_gz(candidates[0]) != f"{_DEFAULT_SPLIT}.tsv":
        raise Unreadable(
            0, f"has no {_DEFAULT_SPLIT}.tsv; name one of {', '.join(file.name for file in splits)}", folder
        )
    return candidates[0]


def _read_beir(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries = _queries_file(_set_folder(path))
    if queries is None:
        raise Unreadable(0, "a BEIR folder needs queries.jsonl")
    judgements = _read_beir_judgements(_qrels_file(path), problems)
    return join(_read_beir_topics(queries, problems), queries, judgements, problems)


def _read_beir_topics(path: Path, problems: Problems) -> Iterator[Topic]:
    decode = msgspec.json.Decoder(_Query).decode
    for number, line in read_lines(path):
        try:
            query = decode(line)
        except msgspec.ValidationError as error:
            problems.error(path, number, f"a query needs `_id` and `text`: {str(error)[0].lower()}{str(error)[1:]}")
        except msgspec.DecodeError as error:
            problems.error(path, number, f"broken JSON: {str(error)[0].lower()}{str(error)[1:]}")
        else:
            yield Topic(str(query._id), query.text, number)


def _read_beir_judgements(path: Path, problems: Problems) -> Judgements:
    """Read tab-separated judgements, in the order that a header names, else query, document, grade."""
    judgements = Judgements(path, problems)
    names, order = list(_COLUMNS), [0, 1, 2]
    for number, line in read_lines(path):
        columns = line.rstrip().split("\t")
        if number == 1:
            header = [re.sub(r"[\s_-]", "", column).lower() for column in columns]
            places = [[at for at, name in enumerate(header) if name in role] for role in _HEADERS]
            if all(places):
                names, order = columns, [place[0] for place in places]
            if places[-1]:
                continue
        judgements.add_row(columns, names, number, " with tabs between", order)
    return judgements


def _render_beir(queries: Sequence[GoldenQuery]) -> Rendered:
    problem = "holds a tab or a line break, which BEIR files cannot hold"
    writable, rows, lost = _document_rows(queries, lambda name: not set(name) & set("\t\n\r"), problem)
    files = {
        "queries.jsonl": "".join(
            json.dumps({"_id": q.id, "text": q.text}, ensure_ascii=False) + "\n" for q in writable
        ),
        f"qrels/{_DEFAULT_SPLIT}.tsv": "".join("\t".join(map(str, row)) + "\n" for row in [_COLUMNS, *rows]),
    }
    return Rendered(files, lost)


BEIR = Format("beir", "folder with queries.jsonl and qrels/test.tsv", _is_beir, _read_beir, _render_beir, folder=True)


# TREC topics: SGML, tab-separated, SMART

# Bounded repeats, and closing tags searched at most once per kind: no file takes quadratic time.
_OPENING = re.compile(r"<(top|topic)\b([^>]{0,200})>", re.IGNORECASE)
_CLOSING = {"top": re.compile("</top>", re.IGNORECASE), "topic": re.compile("</topic>", re.IGNORECASE)}
_HEAD = 4096  # characters read to detect the kind of file
_NUMBER_ATTRIBUTE = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_TOPIC_FIELD = re.compile(r"<(num|title|query|desc|description)\b[^>]{0,200}>([^<]*)", re.IGNORECASE)
_FIELD_LABEL = re.compile(r"(?<!\s)\s*(Number|Topic|Description)\s*:\s*", re.IGNORECASE)
_SMART_RECORD = re.compile(r"^\.I\b", re.MULTILINE)


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
            tag.lower()[:4]: collapsed(html.unescape(_FIELD_LABEL.sub("", value, count=1)))
            for tag, value in _TOPIC_FIELD.findall(text[opening.end() : end_tag.start()])
        }
        number = _NUMBER_ATTRIBUTE.search(opening[2])
        topic_id = parts.get("num") or (number[1] if number else "")
        if not topic_id:
            raise Unreadable(line, "a topic needs `<num>`")
        description = parts.get("desc", "")
        title = parts.get("titl") or parts.get("quer") or description
        yield Topic(topic_id, title, line, notes=description if description != title else "")


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
        yield Topic(str(number), collapsed(query), lines.at(start))


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


# TREC sets: topics and a qrels file in one folder

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


def _read_trec(path: Path, problems: Problems) -> list[GoldenQuery]:
    qrels = (
        _require_single("qrels file", [file for file in _visible_files(path) if _is_qrels(file)])
        if path.is_dir()
        else path
    )
    others = {file: read_head(file) for file in _visible_files(qrels.parent) if file != qrels}
    candidates = [file for file, head in others.items() if any(is_kind(head) for is_kind, _ in _KINDS)]
    topics_file = _require_single(
        "topics file", [file for file in candidates if _TOPICS_BY_NAME.search(file.name)] or candidates
    )
    judgements = _read_trec_judgements(qrels, problems)
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


def _read_trec_judgements(path: Path, problems: Problems) -> Judgements:
    judgements = Judgements(path, problems)
    for number, line in read_lines(path):
        if not line.startswith("#"):
            judgements.add_row(line.split(), ("query", "iteration", "document", "grade"), number)
    return judgements


def _render_trec(queries: Sequence[GoldenQuery]) -> Rendered:
    problem = "holds a space or begins with #, which TREC files cannot hold; convert to beir"
    writable, rows, lost = _document_rows(
        queries, lambda name: name.split() == [name] and not name.startswith("#"), problem
    )
    texts = {query.id: collapsed(query.text) for query in writable}
    if changed := sum(texts[query.id] != query.text for query in writable):
        lost.append(f"{changed} of {len(queries)} queries: line breaks and repeated spaces of the text not kept")
    files = {
        "topics.tsv": "".join(f"{name}\t{text}\n" for name, text in texts.items()),
        "qrels.txt": "".join(f"{name} 0 {document} {grade}\n" for name, document, grade in rows),
    }
    return Rendered(files, lost)


TREC = Format(
    "trec",
    "folder with topics and a qrels file (or the path of the qrels file)",
    lambda path: any(map(_is_qrels, _visible_files(path))) if path.is_dir() else _is_qrels(path),
    _read_trec,
    _render_trec,
    folder=True,
)
