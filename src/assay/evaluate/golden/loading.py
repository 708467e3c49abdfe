"""Reading a golden set: recognise its format, read it, refuse what is wrong with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery, GoldenSet
from assay.errors import AssayError
from assay.evaluate.golden.format import Format
from assay.evaluate.golden.formats import FORMATS, described, named
from assay.evaluate.golden.problems import Problems, Unreadable

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
