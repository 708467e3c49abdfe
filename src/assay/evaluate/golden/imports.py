"""Golden sets that other tools wrote: CSV and JSON tables, ragas, promptfoo, LangSmith, Hugging Face, ir_datasets.

    table         CSV, or JSON rows, with a query or question column
    ragas         user_input, reference_contexts, reference: a test set as CSV, JSON or JSON lines; also written
    promptfoo     YAML `tests:` with `vars` and `assert`
    langsmith     examples with `inputs` and `outputs`
    huggingface   a dataset folder: splits as JSON lines, CSV or Parquet (with pyarrow)
    ir_datasets   `ir_datasets:NAME`, by the package of that name

All but promptfoo and ir_datasets are rows: `rows` converts them by the names of their columns.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.core.golden import Expected, GoldenQuery
from assay.evaluate.golden import nodes
from assay.evaluate.golden.format import Format, Problems, Rendered, fit, read_head, read_lines, read_text, without_gz
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, Unreadable
from assay.evaluate.golden.query_files import MOST_QUERIES
from assay.evaluate.golden.rows import Columns, convert_row, role_of, texts_in
from assay.system.files import open_regular

Row = dict[str, Any]
_TABLES = (".csv", ".jsonl", ".ndjson", ".json")
_YAML = (".yaml", ".yml")


# rows of a file, each with its line (or number, in JSON)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    name = without_gz(path)
    if name.endswith(".csv"):
        return _csv_rows(path)
    if name.endswith(".json"):
        return _json_rows(path)
    if name.endswith(".parquet"):
        return _parquet_rows(path)
    return ((number, _plain_mapping(nodes.parse_json(line, number), path)) for number, line in read_lines(path))


def _csv_rows(path: Path) -> Iterator[tuple[int, Row]]:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restkey="", strict=True)
    try:
        for row in reader:
            row.pop("", None)  # cells beyond the head
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise Unreadable(reader.line_num, f"broken CSV: {error}", path) from None


def _json_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a JSON list, or of the first list in an object such as `{"examples": […]}`."""
    value = plain(nodes.parse_json(read_text(path), 1))
    if isinstance(value, dict):
        value = next((inner for inner in value.values() if isinstance(inner, list)), None)
    if not isinstance(value, list):
        raise Unreadable(1, "needs a list of rows", path)
    for number, row in enumerate(value, 1):
        if not isinstance(row, dict):
            raise Unreadable(number, "a row must be a mapping of columns", path)
        yield number, row


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise Unreadable(
            0, "Parquet needs pyarrow: pip install pyarrow, or export the data as JSON lines", path
        ) from None
    with open_regular(path, follow=True) as file:
        try:
            table = parquet.ParquetFile(file)
            if table.metadata.num_rows > MOST_QUERIES:
                raise Unreadable(0, f"more than {MOST_QUERIES:,} queries, which is the limit", path)
            columns = [name for name in table.schema_arrow.names if role_of(name)]
            number = 0
            for batch in table.iter_batches(columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            raise Unreadable(0, f"broken Parquet file ({error})", path) from None


def plain(node: Node) -> Any:
    """Return a node as Python values; numbers stay text, as written."""
    if isinstance(node, Fields):
        return {name: plain(value) for name, value in node.values.items()}
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    if node.kind == "flag":
        return node.text.lower() == "true"
    return None if node.kind == "nothing" else node.text


def _plain_mapping(node: Node, path: Path) -> Row:
    if not isinstance(node, Fields):
        raise Unreadable(node.line, "a row must be a mapping of columns", path)
    return dict(plain(node))


def _first_columns(path: Path) -> set[str]:
    """Return the column names of the first row; none for a file that is not a table."""
    if not path.is_file() or not without_gz(path).endswith(_TABLES):
        return set()
    head = read_head(path)
    if without_gz(path).endswith(".csv"):
        return set(next(csv.reader(io.StringIO(head)), [])) if "\n" in head else set()
    return set(re.findall(r'"([^"\\]{1,60})"\s*:', head))  # keys at any depth, which is enough to tell formats apart


def _read_rows(path: Path, problems: Problems, flatten: Callable[[Row], Mapping[str, Any]] = dict) -> list[GoldenQuery]:
    """Convert every row of a file."""
    return _converted(((number, flatten(row)) for number, row in _rows(path)), path, problems)


def _converted(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path, problems: Problems) -> list[GoldenQuery]:
    columns, queries = Columns(), list[GoldenQuery]()
    for number, row in rows:
        if len(queries) >= MOST_QUERIES:
            raise Unreadable(number, f"more than {MOST_QUERIES:,} queries, which is the limit", path)
        query = convert_row(row, path, number, problems, columns)
        queries += [query] if query else []
    columns.report(path, len(queries), problems)
    return queries


# table


def _is_table(path: Path) -> bool:
    """Return True for a table with a text column; JSON lines with `expected_…` fields are question pairs."""
    names = _first_columns(path)
    roles = {role_of(name) for name in names}
    by_hand = any(name.startswith(("expect", "refuse", "must_contain", "forbidden")) for name in names)
    return "text" in roles and not (by_hand and not without_gz(path).endswith((".csv", ".json")))


TABLE = Format("table", "CSV or JSON rows with a `query` or `question` column", _is_table, _read_rows)


# ragas


def _render_ragas(queries: Sequence[GoldenQuery]) -> Rendered:
    """Render JSON lines for `EvaluationDataset.from_jsonl`; document and chunk ids are `reference_context_ids`."""
    writable, lost = fit(queries, ("chunk", "doc", "file", "symbol", "answer", "must_contain"))
    writable = [query for query in writable if query.expected or query.must_contain]
    lines = []
    for query in writable:
        row: Row = {"user_input": query.text}
        row |= {"reference_contexts": list(query.must_contain)} if query.must_contain else {}
        row |= {"reference_context_ids": [e.name for e in query.expected if e.grade > 0]} if query.expected else {}
        row |= {"reference": query.answer} if query.answer else {}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    notes = ["ids of queries are not kept: ragas numbers its samples"]
    levels = sorted({expected.level for query in writable for expected in query.expected} - {"chunk"})
    notes += [f"{' and '.join(levels)} names are written as `reference_context_ids`"] if levels else []
    return Rendered({"": "".join(lines)}, notes + lost)


RAGAS = Format(
    "ragas",
    "ragas test set: `user_input`, `reference_contexts`",
    lambda path: "user_input" in _first_columns(path),
    _read_rows,
    _render_ragas,
    suffix=".jsonl",
)


# LangSmith


def _is_langsmith(path: Path) -> bool:
    names = _first_columns(path)
    return {"inputs", "outputs"} <= names or any(name.startswith(("input_", "inputs.")) for name in names)


_PREFIX = re.compile(r"^(?:in|out)puts?[._]")


def _flatten_example(row: Row) -> Row:
    """Return inputs, outputs and metadata of an example as columns; a CSV has them as JSON or as prefixed columns."""
    flat = {_PREFIX.sub("", name): value for name, value in row.items() if name not in _EXAMPLE_PARTS}
    flat = {name: value for name, value in flat.items() if name not in _EXAMPLE_FACTS}
    for part in _EXAMPLE_PARTS:
        value = row.get(part)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value = plain(nodes.parse_json(value, 1))
        if isinstance(value, Mapping):
            flat = {name: item for name, item in value.items() if part != "metadata" or role_of(name)} | flat
        elif value:
            flat.setdefault("input" if part == "inputs" else "output", value)
    return flat


_EXAMPLE_PARTS = ("inputs", "outputs", "reference_outputs", "metadata")
_EXAMPLE_FACTS = ("created_at", "modified_at", "dataset_id", "source_run_id", "name", "split", "attachments")

LANGSMITH = Format(
    "langsmith",
    "LangSmith examples with `inputs` and `outputs`",
    _is_langsmith,
    partial(_read_rows, flatten=_flatten_example),
)


# promptfoo

_TESTS = re.compile(r"^(?:tests\s*:|-\s+vars\s*:|-\s+(?:description|assert)\s*:)", re.MULTILINE)
_CONTAINS = ("contains", "icontains", "contains-all", "icontains-all")
_CONTAINS_NOT = tuple(f"not-{kind}" for kind in _CONTAINS)
_FILE = "file://"  # a variable that promptfoo reads from a file: the document that should be retrieved
_REFERENCE = ("context-recall", "factuality", "similar", "equals", "answer-relevance")


def _read_promptfoo(path: Path, problems: Problems) -> list[GoldenQuery]:
    node = nodes.parse(read_text(path))
    tests = node.values.get("tests") if isinstance(node, Fields) else node
    if isinstance(tests, Scalar):
        raise Unreadable(tests.line, f"the tests are elsewhere: give the path of `{tests.text[:100]}`", path)
    if not isinstance(tests, Items):
        raise Unreadable(node.line if node else 0, "needs a list under `tests:`", path)
    return _converted(((test.line, _promptfoo_row(test, path)) for test in tests.items), path, problems)


def _promptfoo_row(test: Node, path: Path) -> Row:
    """Return a test as a row: its variables, and its assertions on text as phrases or reference answer."""
    if isinstance(test, Scalar):
        raise Unreadable(test.line, f"the tests are elsewhere: give the path of `{test.text[:100]}`", path)
    facts = _plain_mapping(test, path)
    variables = facts.get("vars")
    row: Row = dict(variables) if isinstance(variables, dict) else {}
    files = [value for value in row.values() if isinstance(value, str) and value.startswith(_FILE)]
    row = {name: value for name, value in row.items() if value not in files}
    row |= {"expected_files": [file.removeprefix(_FILE) for file in files]} if files else {}
    row |= {name: facts[name] for name in ("description", "metadata") if isinstance(facts.get(name), str)}
    metadata = facts.get("metadata")
    row |= {name: value for name, value in metadata.items() if role_of(name)} if isinstance(metadata, dict) else {}
    phrases: list[str] = texts_in(row.pop("must_contain", None))
    forbidden: list[str] = []
    for check in facts.get("assert") or ():
        kind, value = (check.get("type"), check.get("value")) if isinstance(check, dict) else (None, None)
        if kind in _CONTAINS:
            phrases += value if isinstance(value, list) else [value] if value else []
        elif kind in _CONTAINS_NOT:
            forbidden += value if isinstance(value, list) else [value] if value else []
        elif kind in _REFERENCE and isinstance(value, str):
            row.setdefault("reference", value)
    return row | {"must_contain": phrases, "forbidden": forbidden}


PROMPTFOO = Format(
    "promptfoo",
    "promptfoo `tests:` with `vars` and `assert`",
    lambda path: path.is_file() and without_gz(path).endswith(_YAML) and bool(_TESTS.search(read_text(path))),
    _read_promptfoo,
)


# Hugging Face dataset folders

_SPLITS = ("test", "validation", "dev", "eval", "train")  # the first that a folder has
_DATA = (".jsonl", ".json", ".csv", ".parquet", ".jsonl.gz", ".csv.gz")
_INFO = "dataset_info.json"


def _data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder and of the folders in it, sorted; no link leads further."""
    folders = [folder, *sorted(inner for inner in folder.iterdir() if inner.is_dir() and not inner.is_symlink())]
    files = [file for place in folders for file in sorted(place.iterdir()) if file.is_file()]
    return [
        file
        for file in files
        if file.name.endswith(_DATA) and file.name not in (_INFO, "state.json", "dataset_dict.json")
    ]


def _is_huggingface(path: Path) -> bool:
    if not path.is_dir():
        return False
    card = path / "README.md"
    described = (path / _INFO).is_file() or (card.is_file() and "dataset_info:" in read_head(card))
    return described or any(_split_of(file, path) for file in _data_files(path))


def _split_of(file: Path, folder: Path) -> str:
    """Return the split that a file belongs to by its name or that of its folder."""
    words = re.split(r"[^a-z]+", file.relative_to(folder).as_posix().lower())
    return next((split for split in _SPLITS if split in words), "")


def _read_huggingface(path: Path, problems: Problems) -> list[GoldenQuery]:
    files = _data_files(path)
    if not files:
        arrow = any(path.rglob("*.arrow"))
        advice = "Arrow files are not read: export them with Dataset.to_json" if arrow else "holds no data files"
        raise Unreadable(0, f"{advice}; a dataset folder has {', '.join(_DATA)} files", path)
    by_split: dict[str, list[Path]] = {}
    for file in files:
        by_split.setdefault(_split_of(file, path), []).append(file)
    split = next(name for name in (*_SPLITS, "") if name in by_split)
    queries: list[GoldenQuery] = []
    for file in by_split[split]:
        queries += _read_rows(file, problems)
    if len(by_split) > 1:
        problems.warn(f"{path}: the split `{split}` is used, of {', '.join(sorted(filter(None, by_split)))}")
    return queries


HUGGINGFACE = Format(
    "huggingface",
    "Hugging Face dataset folder: test, validation or train as JSON lines, CSV or Parquet",
    _is_huggingface,
    _read_huggingface,
)


# ir_datasets

IR_PREFIX = "ir_datasets:"


def _read_ir_dataset(path: Path, problems: Problems) -> list[GoldenQuery]:
    name = str(path).removeprefix(IR_PREFIX)
    try:
        package = import_module("ir_datasets")
    except ImportError:
        raise Unreadable(0, "needs the package ir_datasets: pip install ir_datasets", path) from None
    try:
        dataset = package.load(name)
        grades: dict[str, dict[str, int]] = {}
        for judgement in dataset.qrels_iter():
            grades.setdefault(judgement.query_id, {})[judgement.doc_id] = int(judgement.relevance)
        return [
            GoldenQuery(
                query.query_id,
                query.default_text() if hasattr(query, "default_text") else query.text,
                tuple(Expected(document, "doc", grade) for document, grade in grades[query.query_id].items()),
                where=f"{path}",
            )
            for query in dataset.queries_iter()
            if query.query_id in grades
        ]
    except (KeyError, AttributeError) as error:
        raise Unreadable(0, f"ir_datasets has no judged queries under `{name}` ({error})", path) from None


IR_DATASETS = Format(
    "ir_datasets",
    "`ir_datasets:NAME`, with the package ir_datasets",
    lambda path: str(path).startswith(IR_PREFIX),
    _read_ir_dataset,
)
