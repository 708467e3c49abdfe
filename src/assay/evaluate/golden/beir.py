"""BEIR folders, and the join of topics and judgements shared with TREC."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden.format import Format, Rendered, as_documents, fit
from assay.evaluate.golden.nodes import Problems, Unreadable, read_lines, without_gz
from assay.evaluate.golden.records import MAX_GRADE

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
    if not queries and not problems.errors and line_by_id and unmatched:
        problems.error(
            judgements.path,
            0,
            f"judges none of the queries of {path}: ids there are like `{next(iter(line_by_id))}`, here like `{unmatched[0]}`",
        )
    elif unmatched:
        problems.warn(
            f"{judgements.path}: judges {len(unmatched)} queries that {path.name} does not have, e.g. `{unmatched[0]}`"
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


# a set: queries.jsonl, and judgements per split in qrels/

_QUERY_FILES = ("queries.jsonl", "queries.jsonl.gz")
_COLUMNS = ("query-id", "corpus-id", "score")
_SCORE_HEADERS = ("score", "relevance", "label", "grade", "rel")  # names of the last column in public sets
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


def _detect(path: Path) -> bool:
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


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries = _queries_file(_set_folder(path))
    if queries is None:
        raise Unreadable(0, "a BEIR folder needs queries.jsonl")
    judgements = _read_judgements(_qrels_file(path), problems)
    return join(_read_topics(queries, problems), queries, judgements, problems)


def _read_topics(path: Path, problems: Problems) -> Iterator[Topic]:
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


def _read_judgements(path: Path, problems: Problems) -> Judgements:
    judgements = Judgements(path, problems)
    for number, line in read_lines(path):
        columns = line.rstrip().split("\t")
        if number == 1 and columns[-1].lower() in _SCORE_HEADERS:
            continue
        if len(columns) != 3:
            problems.error(
                path, number, f"needs 3 columns with tabs between ({', '.join(_COLUMNS)}), has {len(columns)}"
            )
        else:
            query, document, grade = columns
            judgements.add(query, document, grade, number)
    return judgements


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    documents, notes = as_documents(queries)
    writable, lost = fit(documents, ("doc",))
    rows = [(query.id, expected.name, expected.grade) for query in writable for expected in query.expected]
    bad_id = next((name for row in rows for name in row[:2] if set(name) & set("\t\n\r")), None)
    if bad_id is not None:
        raise Unreadable(0, f"the id {bad_id!r} holds a tab or a line break, which BEIR files cannot hold")
    files = {
        "queries.jsonl": "".join(
            json.dumps({"_id": q.id, "text": q.text}, ensure_ascii=False) + "\n" for q in writable
        ),
        f"qrels/{_DEFAULT_SPLIT}.tsv": "".join("\t".join(map(str, row)) + "\n" for row in [_COLUMNS, *rows]),
    }
    return Rendered(files, notes + lost)


BEIR = Format("beir", "folder with queries.jsonl and qrels/test.tsv", _detect, _read, _render, folder=True)
