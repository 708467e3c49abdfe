"""BEIR folders, and the joining of queries and judgements that TREC shares."""

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

MOST_ROWS = 2_000_000  # topics, and judgements: four times the largest public set; each takes some 250 bytes
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Topic:
    """A query as its file has it."""

    id: str
    text: str
    line: int
    notes: str = ""


@dataclass(slots=True)
class Judgements:
    """Grades by query and document, each with the line it is from."""

    path: Path
    problems: Problems
    grades: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    count: int = 0
    repeated: list[int] = field(default_factory=list)  # lines that say what another line said before

    def add(self, query: str, document: str, grade: str, line: int) -> None:
        """Notes a judgement. One that is repeated counts once; with another grade it is an error."""
        if not _INTEGER.fullmatch(grade) or abs(int(grade)) > MAX_GRADE:
            self.problems.error(
                self.path, line, f"the grade must be a whole number between -{MAX_GRADE} and {MAX_GRADE}, not `{grade}`"
            )
            return
        self.count += 1
        if self.count > MOST_ROWS:
            raise Unreadable(line, f"more than {MOST_ROWS:,} judgements, which is the most that is read", self.path)
        known = self.grades.setdefault(query, {}).setdefault(document, (int(grade), line))
        if known[0] != int(grade):
            self.problems.error(
                self.path, line, f"document `{document}` of query `{query}` has another grade in line {known[1]}"
            )
        elif known[1] != line:
            self.repeated.append(line)


def join(topics: Iterable[Topic], path: Path, judgements: Judgements, problems: Problems) -> list[GoldenQuery]:
    """The topics that were judged. Topics without judgements, and judgements without topic, are counted in warnings."""
    lines: dict[str, int] = {}
    queries: list[GoldenQuery] = []
    for topic in topics:
        first = lines.setdefault(topic.id, topic.line)
        if len(lines) > MOST_ROWS:
            raise Unreadable(topic.line, f"more than {MOST_ROWS:,} queries, which is the most that is read", path)
        if first != topic.line:
            problems.error(path, topic.line, f"id `{topic.id}` is used twice, first in line {first}")
        elif not topic.text.strip():
            problems.error(path, topic.line, f"the text of query `{topic.id}` is empty")
        elif topic.id in judgements.grades:
            expected = tuple(Expected(name, "doc", grade) for name, (grade, _) in judgements.grades[topic.id].items())
            queries.append(GoldenQuery(topic.id, topic.text, expected, notes=topic.notes, where=f"{path}:{topic.line}"))
    unknown = [query for query in judgements.grades if query not in lines]
    if not queries and not problems.errors and lines and unknown:
        problems.error(
            judgements.path,
            0,
            f"judges none of the queries of {path}: ids there are like `{next(iter(lines))}`, here like `{unknown[0]}`",
        )
    elif unknown:
        problems.warn(
            f"{judgements.path}: judges {len(unknown)} queries that {path.name} does not have, e.g. `{unknown[0]}`"
        )
    if judgements.repeated:
        problems.warn(
            f"{judgements.path}:{judgements.repeated[0]}: {len(judgements.repeated)} repeated judgements are counted once"
        )
    if len(queries) < len(lines):
        problems.warn(
            f"{path}: {len(lines) - len(queries)} queries without judgements in {judgements.path.name} are left out"
        )
    return queries


# BEIR folders: queries.jsonl, and judgements by split in qrels/.

_QUERIES = ("queries.jsonl", "queries.jsonl.gz")
_HEADER = ("query-id", "corpus-id", "score")
_SCORE = ("score", "relevance", "label", "grade", "rel")  # what headers in use call the last column
_SPLIT = "test"  # the split that results are published on


class _Query(msgspec.Struct):
    """A line of queries.jsonl. Public sets carry further fields of their own; they are passed over."""

    _id: str | int
    text: str


def _home(path: Path) -> Path:
    """The folder of a set, of which a path may also name queries.jsonl or one split."""
    if path.is_dir():
        return path
    return path.parent.parent if path.parent.name == "qrels" else path.parent


def _queries_file(home: Path) -> Path | None:
    return next((home / name for name in _QUERIES if (home / name).is_file()), None)


def _detect(path: Path) -> bool:
    home = _home(path)
    named = path.is_dir() or path.parent.name == "qrels" or path.name in _QUERIES
    return named and _queries_file(home) is not None and (home / "qrels").is_dir()


def _split(path: Path) -> Path:
    """The judgements that a path means: the split it names, else test, else the only one there is."""
    if path.is_file() and path.parent.name == "qrels":
        return path
    folder = _home(path) / "qrels"
    splits = sorted(file for file in folder.glob("*") if without_gz(file).endswith(".tsv"))
    meant = [file for file in splits if without_gz(file) == f"{_SPLIT}.tsv"] or splits
    if not meant:
        raise Unreadable(0, f"has no {_SPLIT}.tsv", folder)
    if len(meant) > 1 and without_gz(meant[0]) != f"{_SPLIT}.tsv":
        raise Unreadable(0, f"has no {_SPLIT}.tsv; name one of {', '.join(file.name for file in splits)}", folder)
    return meant[0]


def _read(path: Path, problems: Problems) -> list[GoldenQuery]:
    queries = _queries_file(_home(path))
    if queries is None:
        raise Unreadable(0, "a BEIR folder needs queries.jsonl")
    judgements = _judgements(_split(path), problems)
    return join(_topics(queries, problems), queries, judgements, problems)


def _topics(path: Path, problems: Problems) -> Iterator[Topic]:
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


def _judgements(path: Path, problems: Problems) -> Judgements:
    judgements = Judgements(path, problems)
    for number, line in read_lines(path):
        columns = line.rstrip().split("\t")
        if number == 1 and columns[-1].lower() in _SCORE:
            continue
        if len(columns) != 3:
            problems.error(
                path, number, f"needs 3 columns with tabs between ({', '.join(_HEADER)}), has {len(columns)}"
            )
        else:
            query, document, grade = columns
            judgements.add(query, document, grade, number)
    return judgements


def _render(queries: Sequence[GoldenQuery]) -> Rendered:
    documents, said = as_documents(queries)
    kept, lost = fit(documents, ("doc",))
    rows = [(query.id, one.name, one.grade) for query in kept for one in query.expected]
    broken = next((name for row in rows for name in row[:2] if set(name) & set("\t\n\r")), None)
    if broken is not None:
        raise Unreadable(0, f"the id {broken!r} holds a tab or a line break, which BEIR files cannot hold")
    files = {
        "queries.jsonl": "".join(json.dumps({"_id": q.id, "text": q.text}, ensure_ascii=False) + "\n" for q in kept),
        f"qrels/{_SPLIT}.tsv": "".join("\t".join(map(str, row)) + "\n" for row in [_HEADER, *rows]),
    }
    return Rendered(files, said + lost)


BEIR = Format("beir", "folder with queries.jsonl and qrels/test.tsv", _detect, _read, _render, folder=True)
