"""Golden-set formats: detect, read, validate, convert and write."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.errors import AssayError
from assay.evaluate.files import write_text
from assay.evaluate.golden.beir import BEIR
from assay.evaluate.golden.fixtures import FIXTURES
from assay.evaluate.golden.format import Format, Rendered
from assay.evaluate.golden.nodes import InvalidGolden, Problems, Unreadable, read_text, without_gz
from assay.evaluate.golden.pairs import PAIRS
from assay.evaluate.golden.trec import TREC
from assay.evaluate.golden.yaml_queries import GOLDEN, QUERIES
from assay.text.terms import nearest

# In the order in which a path is tried.
FORMATS: dict[str, Format] = {one.name: one for one in (FIXTURES, GOLDEN, QUERIES, BEIR, PAIRS, TREC)}


def named(name: str) -> Format:
    """The format of that name, or an error that offers the nearest."""
    if name not in FORMATS:
        near = nearest(name, FORMATS, 1)
        raise AssayError(
            f"unknown golden format `{name}`; "
            + (f"did you mean `{near[0]}`?" if near else f"known are {', '.join(FORMATS)}")
        )
    return FORMATS[name]


def described() -> str:
    """All formats, a line each, for messages."""
    return "\n".join(f"  {one.name:9} {one.description}" for one in FORMATS.values())


# Reading a golden set: recognise its format, read it, refuse what is wrong with it.

FEW = 10  # queries, below which hardly any difference can be shown


def load(path: Path, format: str | None = None) -> GoldenSet:
    """The golden set in a file or folder, of the format named or else recognised. Raises InvalidGolden with every problem found."""
    chosen = detect(path) if format is None else named(format)
    problems = Problems()
    queries = read(chosen, path, problems)
    problems.raise_if_any(path)
    warnings = [*problems.warnings, *_warnings(queries)]
    return GoldenSet(tuple(queries), str(path), chosen.name, digest(queries), tuple(warnings))


def detect(path: Path) -> Format:
    """The first format that recognises a path."""
    try:
        path.stat()
        found = next((one for one in FORMATS.values() if one.detect(path)), None)
    except FileNotFoundError:
        raise AssayError(f"{path}: no such file or folder. A golden set is one of:\n{described()}") from None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Unreadable as reason:
        raise AssayError(f"{path}:{reason.line}: {reason}" if reason.line else f"{path}: {reason}") from None
    if found is None:
        hint = "nothing in this folder is a golden set" if path.is_dir() else "not recognised as a golden set"
        raise AssayError(f"{path}: {hint}. Name its format, or give one of:\n{described()}")
    return found


def read(format: Format, path: Path, problems: Problems) -> list[GoldenQuery]:
    """The queries of a set, checked as a whole; what is wrong goes to `problems`."""
    try:
        queries = format.read(path, problems)
    except Unreadable as reason:
        problems.unreadable(path, reason)
        return []
    except OSError as error:
        problems.error(path, 0, f"cannot be read ({error.strerror or error})")
        return []
    if not queries and not problems.errors:
        problems.error(path, 0, "the golden set is empty")
    first: dict[str, GoldenQuery] = {}
    for query in queries:
        if first.setdefault(query.id, query) is not query:
            problems.error(query.where, 0, f"id `{query.id}` is used twice, first in {first[query.id].where}")
    return queries


def _warnings(queries: Sequence[GoldenQuery]) -> list[str]:
    out = []
    if len(queries) < FEW:
        out.append(
            f"only {len(queries)} {'query' if len(queries) == 1 else 'queries'}: fewer than {FEW} can hardly show any difference"
        )
    first: dict[tuple[str, str], GoldenQuery] = {}
    for query in queries:
        other = first.setdefault((query.repository, query.text), query)
        if other is not query:
            out.append(f"{query.where}: `{query.id}` asks the same as `{other.id}` ({other.where})")
    return out


def _page(expected: Expected) -> tuple[int, ...]:
    """Nothing where there is none: sets without pages keep the digest they had."""
    return (expected.page,) if expected.page else ()


def digest(queries: Sequence[GoldenQuery]) -> str:
    """A hash of what can change a score: ids, texts, repositories, expectations, refusals; not of their order, nor of notes and tiers."""
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


# Writing golden sets: a set is rendered, read back, and only then put in its place.

_T = TypeVar("_T")
_FILE_SUFFIXES = (".yaml", ".yml", ".jsonl", ".ndjson", ".json", ".tsv", ".txt", ".gz")


def save(queries: Sequence[GoldenQuery], path: Path, format: str) -> list[str]:
    """Writes a set, in place of what is there; returns what the format cannot hold, a line each."""
    chosen = named(format)
    repeated = [name for name, count in Counter(query.id for query in queries).items() if count > 1]
    if repeated:
        raise InvalidGolden(path, [f"{path}: id `{name}` is used by more than one query" for name in repeated])
    rendered = _or_explain(path, lambda: chosen.render(queries))
    _check_place(chosen, rendered, path)
    _read_back(chosen, rendered, path)
    _put(rendered, path)
    return rendered.lost


def convert(source: Path, target: Path, format: str, source_format: str | None = None) -> list[str]:
    """Reads one set and writes it in another format; returns what that cannot hold."""
    return save(load(source, source_format).queries, target, format)


def append(query: GoldenQuery, path: Path, format: str | None = None) -> list[str]:
    """Adds a query to a set, or begins one with it; returns what the format cannot hold. What is there is kept as it is."""
    is_new = _is_new(path)
    chosen = named(format or _format_for(query, path)) if is_new or format else detect(path)
    if is_new and not path.is_file():
        return save([query], path, chosen.name)
    if chosen.extend is None:
        raise AssayError(f"{path}: a {chosen.name} set cannot be added to; convert it, for example to pairs")
    extend = chosen.extend
    _refuse_known_id(query, chosen, path)
    rendered = _or_explain(path, lambda: extend(query, path))
    if query.id not in {one.id for one in _read_back(chosen, rendered, path)}:
        raise AssayError(f"{path}: a {chosen.name} set cannot hold what `{query.id}` expects; use pairs")
    _put(rendered, path)
    return rendered.lost


def _is_new(path: Path) -> bool:
    """Whether nothing is there: no file or folder, an empty folder, a file of comments only."""
    if path.is_dir():
        return not any(path.iterdir())
    if not path.exists():
        return True
    text = _or_explain(path, lambda: read_text(path))
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n"))


def _format_for(query: GoldenQuery, path: Path) -> str:
    """The format that a new set begins with: by the name of its file; in YAML by what the query expects."""
    name = without_gz(path)
    if name.endswith((".jsonl", ".ndjson")):
        return "pairs"
    if name.endswith((".yaml", ".yml")):
        of_code = query.expected and all(one.level in ("symbol", "file") for one in query.expected)
        return "queries" if of_code and not (query.must_contain or query.forbidden or query.answer) else "golden"
    if path.suffix:
        raise AssayError(f"{path}: name it .jsonl or .yaml, or give a folder for fixtures")
    return "fixtures"


def _refuse_known_id(query: GoldenQuery, chosen: Format, path: Path) -> None:
    problems = Problems()
    known = _or_explain(path, lambda: chosen.read(path, problems))
    problems.raise_if_any(path)
    same = next((one for one in known if one.id == query.id), None)
    if same is not None:
        raise AssayError(f"{same.where}: id `{query.id}` is already used; choose another")


def _or_explain(path: Path, make: Callable[[], _T]) -> _T:
    """What `make` returns; if it cannot, an error for people."""
    try:
        return make()
    except Unreadable as reason:
        problems = Problems()
        problems.unreadable(path, reason)
        raise InvalidGolden(path, problems.errors) from None


def _check_place(chosen: Format, rendered: Rendered, path: Path) -> None:
    """A folder for formats that are folders, which holds no other files of a set; a file for the others."""
    if not chosen.folder:
        if path.is_dir():
            raise AssayError(f"{path}: is a folder; a {chosen.name} set is a file")
        return
    if path.is_file() or (not path.exists() and path.suffix in _FILE_SUFFIXES):
        raise AssayError(f"{path}: a {chosen.name} set is a folder; give the path of a folder")
    present = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    if others := sorted(present - set(rendered.files)):
        raise AssayError(f"{path}: holds other files ({', '.join(others[:3])}); give a new or empty folder")


def _read_back(chosen: Format, rendered: Rendered, path: Path) -> list[GoldenQuery]:
    """The queries as they will be read. Raises if they would not be."""
    with tempfile.TemporaryDirectory() as temporary:
        trial = Path(temporary) / "set"
        for name, text in rendered.files.items():
            write_text(trial / name if name else trial, text)
        problems = Problems()
        queries = read(chosen, trial, problems) if rendered.files else []
    errors = [error.replace(str(trial), str(path)) for error in problems.errors]
    if not queries:
        errors = [f"{path}: nothing can be written as {chosen.name}", *errors, *rendered.lost]
    if errors:
        raise InvalidGolden(path, errors)
    return queries


def _put(rendered: Rendered, path: Path) -> None:
    """Writes the files. A folder that is new appears as a whole, files that are there are replaced one by one."""
    if "" in rendered.files or path.exists():
        for name, text in rendered.files.items():
            write_text(path / name if name else path, text)
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        for name, text in rendered.files.items():
            write_text(fresh / name, text)
        fresh.rename(path)
    except OSError as error:
        raise AssayError(f"{path}: cannot be written ({error.strerror or error}); give another place") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
