"""BEIR folders: queries.jsonl, and judgements by split in qrels/."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.core.golden import GoldenQuery
from assay.evaluate.golden.files import read_lines, without_gz
from assay.evaluate.golden.fitting import as_documents, fit
from assay.evaluate.golden.format import Format, Rendered
from assay.evaluate.golden.judgements import Judgements, Topic, join
from assay.evaluate.golden.problems import Problems, Unreadable

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
