"""Golden-set formats: detect, read, validate, convert and write."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.errors import AssayError
from assay.evaluate.files import repository_file, write_text, writing
from assay.evaluate.golden.corpus import with_corpus
from assay.evaluate.golden.format import Format, InvalidGolden, Problems, Rendered, read_text, without_gz
from assay.evaluate.golden.imports import HUGGINGFACE, IR_DATASETS, LANGSMITH, PROMPTFOO, RAGAS, TABLE
from assay.evaluate.golden.nodes import Unreadable
from assay.evaluate.golden.query_files import FIXTURES, GOLDEN, PAIRS, QUERIES, read_pairs
from assay.evaluate.golden.topics import BEIR, TREC
from assay.text.suggest import did_you_mean

RECORDS = "records"  # format of a set that was never a file
# in detection order
FORMATS: dict[str, Format] = {
    fmt.name: fmt
    for fmt in (
        FIXTURES, GOLDEN, QUERIES, PROMPTFOO, BEIR, RAGAS, LANGSMITH, TABLE, PAIRS, TREC, HUGGINGFACE, IR_DATASETS,
    )
}  # fmt: skip
WRITABLE = tuple(name for name, fmt in FORMATS.items() if fmt.render is not None)


def get_format(name: str) -> Format:
    """Return the format of that name; raise AssayError with the nearest name when there is none."""
    if name not in FORMATS:
        raise AssayError(
            f"unknown golden format '{name}'.{did_you_mean(name, FORMATS)} Known formats: {', '.join(FORMATS)}"
        )
    return FORMATS[name]


def describe_formats() -> str:
    """Return all formats as text, one line each, for messages."""
    return "\n".join(f"  {fmt.name:12} {fmt.description}" for fmt in FORMATS.values())


# reading

MIN_QUERIES = 10  # queries; fewer cannot show a realistic difference


def load(path: Path, format: str | None = None) -> GoldenSet:
    """Load and validate the golden set in a file or folder, in the given format or the detected one.

    Raise InvalidGolden with every problem at once.
    """
    chosen = detect(path) if format is None else get_format(format)
    problems = Problems()
    return _checked_set(read(chosen, path, problems), path, chosen.name, problems)


def load_records(records: Iterable[GoldenQuery | Mapping[str, Any]], name: str = "records") -> GoldenSet:
    """Return a golden set of queries, or of records with the fields of `pairs`; `name` stands for its path.

    Raise InvalidGolden with every problem at once; a problem of a record names its number.
    """
    problems, path = Problems(), Path(name)
    queries: list[GoldenQuery] = []
    for number, row in enumerate(records, 1):
        if isinstance(row, GoldenQuery):
            queries.append(row if row.where else replace(row, where=f"{name}:{number}"))
            continue
        try:
            line = json.dumps(row)
        except (TypeError, ValueError, RecursionError) as error:
            problems.error(path, number, f"a record holds text, numbers, lists and mappings only ({error})")
        else:
            queries += read_pairs([(number, line)], path, problems)
    check_queries(queries, path, problems)
    return _checked_set(queries, path, RECORDS, problems)


def _checked_set(queries: Sequence[GoldenQuery], path: Path, format: str, problems: Problems) -> GoldenSet:
    problems.raise_if_any(path)
    warnings = [*problems.warnings, *_warnings(queries)]
    return GoldenSet(tuple(queries), str(path), format, digest(queries), tuple(warnings))


# places of a repository's own golden set, relative to its root
DEFAULT_PLACES = (
    "eval/golden.jsonl", "eval/golden.yaml", "eval/questions.jsonl", "eval/queries.yaml", "eval/fixtures",
    "docs/eval/golden.jsonl", "docs/eval/example_gold.jsonl",
)  # fmt: skip


def default(root: Path) -> Path:
    """Return the path of a repository's only golden set in a usual place; raise AssayError for none, or several."""
    present = [place for place in DEFAULT_PLACES if (root / place).exists()]
    if not present:
        raise AssayError(f"no golden set: give --golden PATH, or put it at {DEFAULT_PLACES[0]} ({root} has none)")
    if len(present) > 1:
        raise AssayError(f"several golden sets in {root}: give --golden PATH, one of {', '.join(present)}")
    return repository_file(root, present[0])


def detect(path: Path) -> Format:
    """Return the first format that recognises the path; raise AssayError when none does."""
    if IR_DATASETS.detect(path):  # a name, not a path
        return IR_DATASETS
    try:
        path.stat()
        detected = next((fmt for fmt in FORMATS.values() if fmt.detect(path)), None)
    except FileNotFoundError:
        raise AssayError(f"{path}: no such file or folder. A golden set is one of:\n{describe_formats()}") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Unreadable as reason:
        raise AssayError(reason.located(path)) from None
    if detected is None:
        hint = "nothing in this folder is a golden set" if path.is_dir() else "not recognised as a golden set"
        raise AssayError(f"{path}: {hint}. Name its format, or give one of:\n{describe_formats()}")
    return detected


def read(format: Format, path: Path, problems: Problems) -> list[GoldenQuery]:
    """Read and validate the queries of a set; add what is wrong to `problems`."""
    try:
        queries = format.read(path, problems)
    except Unreadable as reason:
        problems.unreadable(path, reason)
        return []
    except OSError as error:
        problems.error(path, 0, f"cannot be read ({error.strerror or error})")
        return []
    check_queries(queries, path, problems)
    return queries


def check_queries(queries: Sequence[GoldenQuery], path: Path, problems: Problems) -> None:
    """Report an empty set and ids that are used twice."""
    if not queries and not problems.errors:
        problems.error(path, 0, "the golden set is empty")
    first_by_id: dict[str, GoldenQuery] = {}
    for query in queries:
        if first_by_id.setdefault(query.id, query) is not query:
            problems.error(query.where, 0, f"id `{query.id}` is used twice, first in {first_by_id[query.id].where}")


def _warnings(queries: Sequence[GoldenQuery]) -> list[str]:
    warnings = []
    if len(queries) < MIN_QUERIES:
        warnings.append(
            f"only {len(queries)} {'query' if len(queries) == 1 else 'queries'}: fewer than {MIN_QUERIES} can hardly detect a difference"
        )
    first_by_text: dict[tuple[str, str], GoldenQuery] = {}
    for query in queries:
        earlier = first_by_text.setdefault((query.repository, query.text), query)
        if earlier is not query:
            warnings.append(f"{query.where}: `{query.id}` has the same text as `{earlier.id}` ({earlier.where})")
    return warnings


def _page(expected: Expected) -> tuple[int, ...]:
    """Return the page, if any, as an optional digest part: sets without pages keep their digest."""
    return (expected.page,) if expected.page else ()


def digest(queries: Sequence[GoldenQuery]) -> str:
    """Hash what can change a score: ids, texts, repositories, expectations and refusals.

    Order, notes and tiers do not count.
    """
    content = [
        (
            query.id,
            query.text,
            query.repository,
            sorted((e.level, e.name, e.grade, e.doc, e.start, e.end, *_page(e)) for e in query.expected),
            query.refuse,
            sorted(query.must_contain),
            sorted(query.forbidden),
        )
        for query in sorted(queries, key=lambda query: query.id)
    ]
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


# writing: render, read back, then replace

_T = TypeVar("_T")
_FILE_SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".json", ".tsv", ".txt", ".gz")


def save(queries: Sequence[GoldenQuery], path: Path, format: str, corpus: Path | None = None) -> list[str]:
    """Write a set, replacing what is there; return a message per thing the format cannot hold.

    `corpus` is the folder of the documents, whose texts a BEIR set then has, too.
    """
    chosen = get_format(format)
    repeated = [name for name, count in Counter(query.id for query in queries).items() if count > 1]
    if repeated:
        raise InvalidGolden(path, [f"{path}: id `{name}` is used by more than one query" for name in repeated])
    render = chosen.render
    if render is None:
        raise AssayError(f"a {format} set is only read; write one of {', '.join(WRITABLE)}")
    rendered = _as_invalid_golden(path, lambda: render(queries))
    if corpus is not None:
        if chosen is not BEIR:
            raise AssayError(f"a {format} set has no corpus; leave out --root, or write beir")
        rendered = with_corpus(rendered, queries, corpus)
    _check_target(chosen, rendered, path)
    _read_back(chosen, rendered, path)
    _write_files(rendered, path)
    return rendered.lost


def convert(
    source: Path, target: Path, format: str, source_format: str | None = None, corpus: Path | None = None
) -> list[str]:
    """Read a set and write it in another format; return a message per thing that format cannot hold."""
    return save(load(source, source_format).queries, target, format, corpus)


def append(
    query: GoldenQuery, path: Path, format: str | None = None, check: Callable[[GoldenQuery], None] = lambda query: None
) -> list[str]:
    """Add a query to a set, keeping its text as it is, or create the set.

    Return a message per thing the format cannot hold. `check` may refuse a query that is valid otherwise.
    """
    is_new = _is_new(path)
    chosen = get_format(format or _format_for(query, path)) if is_new or format else detect(path)
    if is_new and not path.is_file():
        check(query)
        return save([query], path, chosen.name)
    if chosen.extend is None:
        raise AssayError(f"{path}: a {chosen.name} set cannot be added to; convert it, for example to pairs")
    extend = chosen.extend
    _check_unused_id(query, chosen, path)
    rendered = _as_invalid_golden(path, lambda: extend(query, path))
    if query.id not in {stored.id for stored in _read_back(chosen, rendered, path)}:
        raise AssayError(f"{path}: a {chosen.name} set cannot hold what `{query.id}` expects; use pairs")
    check(query)
    _write_files(rendered, path)
    return rendered.lost


def _is_new(path: Path) -> bool:
    """Return True for a missing path, an empty folder, or a file of comments only."""
    if path.is_dir():
        return not any(path.iterdir())
    if not path.exists():
        return True
    text = _as_invalid_golden(path, lambda: read_text(path))
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))


def _format_for(query: GoldenQuery, path: Path) -> str:
    """Return the format of a new set, by file name; for YAML, by the levels the query expects."""
    name = without_gz(path)
    if name.endswith((".jsonl", ".ndjson")):
        return "pairs"
    if name.endswith((".yaml", ".yml")):
        code_only = query.expected and all(expected.level in ("symbol", "file") for expected in query.expected)
        return "queries" if code_only and not (query.must_contain or query.forbidden or query.answer) else "golden"
    if path.suffix:
        raise AssayError(f"{path}: name it .jsonl or .yaml, or give a folder for fixtures")
    return "fixtures"


def _check_unused_id(query: GoldenQuery, chosen: Format, path: Path) -> None:
    problems = Problems()
    existing = _as_invalid_golden(path, lambda: chosen.read(path, problems))
    problems.raise_if_any(path)
    duplicate = next((candidate for candidate in existing if candidate.id == query.id), None)
    if duplicate is not None:
        raise AssayError(f"{duplicate.where}: id `{query.id}` is already used; choose another")


def _as_invalid_golden(path: Path, make: Callable[[], _T]) -> _T:
    """Return what `make` returns; turn Unreadable into InvalidGolden."""
    try:
        return make()
    except Unreadable as reason:
        problems = Problems()
        problems.unreadable(path, reason)
        raise InvalidGolden(path, problems.errors) from None


def _check_target(chosen: Format, rendered: Rendered, path: Path) -> None:
    """Check that the target is a folder for folder formats (with no other files), a file otherwise."""
    if not chosen.folder:
        if path.is_dir():
            raise AssayError(f"{path}: is a folder; a {chosen.name} set is a file")
        if chosen is RAGAS and not without_gz(path).endswith((".jsonl", ".ndjson")):
            raise AssayError(f"{path}: a ragas set is written as JSON lines; name it {path.stem}.jsonl")
        return
    if path.is_file() or (not path.exists() and path.suffix in _FILE_SUFFIXES):
        raise AssayError(f"{path}: a {chosen.name} set is a folder; give the path of a folder")
    present = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    if unrelated := sorted(present - set(rendered.files)):
        raise AssayError(f"{path}: holds other files ({', '.join(unrelated[:3])}); give a new or empty folder")


def _read_back(chosen: Format, rendered: Rendered, path: Path) -> list[GoldenQuery]:
    """Return the queries as they will be read back; raise InvalidGolden when they cannot be."""
    with tempfile.TemporaryDirectory() as temporary:
        trial = Path(temporary) / f"set{chosen.suffix}"
        for name, text in rendered.files.items():
            write_text(trial / name if name else trial, text)
        problems = Problems()
        queries = read(chosen, trial, problems) if rendered.files else []
    errors = [error.replace(str(trial), str(path)) for error in problems.errors]
    if not queries:
        errors = [f"{path}: no query can be written as {chosen.name}", *errors, *rendered.lost]
    if errors:
        raise InvalidGolden(path, errors)
    return queries


def _write_files(rendered: Rendered, path: Path) -> None:
    """Write the files. A new folder appears as a whole; existing files are replaced one by one."""
    if "" in rendered.files or path.exists():
        for name, text in rendered.files.items():
            write_text(path / name if name else path, text)
        return
    staging = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        for name, text in rendered.files.items():
            write_text(staging / name, text)
        with writing(path, "; give another path"):
            staging.rename(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
