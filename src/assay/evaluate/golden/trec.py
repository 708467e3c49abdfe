"""TREC sets: topics, and a qrels file of judgements beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden.files import read_head, read_lines, read_text
from assay.evaluate.golden.fitting import as_documents, fit
from assay.evaluate.golden.format import Format, Rendered
from assay.evaluate.golden.judgements import Judgements, join
from assay.evaluate.golden.problems import Problems, Unreadable
from assay.evaluate.golden.topics import is_topics, topics

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
