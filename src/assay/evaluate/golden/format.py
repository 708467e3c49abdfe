"""Golden-set formats: the interface, problems collected while reading, file contents, and fitting queries to a format."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.core.golden import LEVELS, GoldenQuery
from assay.errors import AssayError
from assay.evaluate.golden.nodes import Unreadable
from assay.system import inputs
from assay.system.files import TooLarge

# problems of a golden set, collected while reading and reported together

SHOWN = 20  # problems printed per set
MAX_PROBLEMS = 1_000  # problems after which reading stops


class InvalidGolden(AssayError):
    """An unusable golden set. `problems` holds one line per problem to fix."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.problems = tuple(problems)
        more = [f"… and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        lines = [*problems[:SHOWN], *more]
        super().__init__(lines[0] if len(problems) == 1 else "\n  ".join([f"{path}: {len(problems)} problems", *lines]))


@dataclass(slots=True)
class Problems:
    """Errors and warnings in the order they occurred."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def error(self, path: Path | str, line: int, message: str) -> None:
        self.errors.append(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        if len(self.errors) == MAX_PROBLEMS:
            raise InvalidGolden(Path(path), self.errors)

    def unreadable(self, path: Path, reason: Unreadable) -> None:
        self.error(reason.path or path, reason.line, reason.message)

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def raise_if_any(self, path: Path) -> None:
        if self.errors:
            raise InvalidGolden(path, self.errors)


# a format


@dataclass(frozen=True, slots=True)
class Rendered:
    """A set as text, by path inside its folder, or under "" when it is one file. `lost` lists what the format drops."""

    files: dict[str, str]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the format table."""

    name: str
    description: str  # one line, shown in help and errors
    detect: Callable[[Path], bool]
    read: Callable[[Path, Problems], list[GoldenQuery]]
    render: Callable[[Sequence[GoldenQuery]], Rendered] | None = None  # None: the format is only read
    # files that change when a query is added to the set at a path; None: the format cannot be extended
    extend: Callable[[GoldenQuery, Path], Rendered] | None = None
    folder: bool = False  # a set is a folder, not a single file
    suffix: str = ""  # of a written file, where the reader goes by it


# file contents, plain or gzipped

_HEAD = 4096  # bytes, enough to detect the format


def read_text(path: Path) -> str:
    """Return the whole text, without a byte order mark and with `\\n` line ends. Raise Unreadable."""
    with _as_unreadable(path):
        return inputs.read_text(path)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines with their numbers, one at a time. Raise Unreadable."""
    with _as_unreadable(path):
        for number, line in inputs.read_lines(path):
            if line and not line.isspace():
                yield number, line


def read_head(path: Path) -> str:
    """Return the beginning of a text file; empty for binary or unreadable files."""
    try:
        with inputs.open_unpacked(path, inputs.LARGEST_STREAM) as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return ""
    return "" if b"\0" in head else head.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def without_gz(path: Path) -> str:
    """Return the file name without a .gz suffix."""
    return path.name.removesuffix(".gz")


@contextlib.contextmanager
def _as_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except inputs.BadInput as error:
        raise Unreadable(error.line, error.reason, path) from None
    except TooLarge as error:
        raise Unreadable(0, f"larger than {error.limit / 1e6:,.0f} MB of text, which is the limit", path) from None
    except OSError as error:
        raise Unreadable(0, f"cannot be read ({error.strerror or error})", path) from None


# fitting queries to a format

_IN_EVERY_FORMAT = ("id", "text", "expected", "where")
_OPTIONAL_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(GoldenQuery) if f.name not in _IN_EVERY_FORMAT}


def fit(queries: Sequence[GoldenQuery], roles: Collection[str]) -> tuple[list[GoldenQuery], list[str]]:
    """Return the queries reduced to the attributes and levels in `roles`, and a message per dropped thing."""
    absent = {name: default for name, default in _OPTIONAL_DEFAULTS.items() if name not in roles}
    counts = {
        f"{name.replace('_', ' ')} not kept": sum(getattr(query, name) != default for query in queries)
        for name, default in absent.items()
    }
    for level in LEVELS:
        if level not in roles:
            counts[f"expectations at {level} level not kept"] = sum(
                any(e.level == level for e in query.expected) for query in queries
            )
    lost = [f"{count} of {len(queries)} queries: {loss}" for loss, count in counts.items() if count]
    reduced = [
        replace(query, expected=tuple(e for e in query.expected if e.level in roles), **absent) for query in queries
    ]
    writable = [query for query in reduced if query.expected or query.refuse or query.must_contain or query.forbidden]
    if len(writable) < len(queries):
        left_out = len(queries) - len(writable)
        lost.append(f"{left_out} of {len(queries)} queries left out: their expectations cannot be written")
    return writable, lost


def as_documents(queries: Sequence[GoldenQuery]) -> tuple[list[GoldenQuery], list[str]]:
    """Return the queries with document ids as expectations: their own, else the names at the first level the set uses.

    Also return a message when another level was converted.
    """
    levels_used = {e.level for query in queries for e in query.expected}
    level = (
        "doc" if "doc" in levels_used or not levels_used else next(level for level in LEVELS if level in levels_used)
    )
    if level == "doc":
        return list(queries), []
    converted = []
    for query in queries:
        grades: dict[str, int] = {}
        for expected in query.expected:
            if expected.level == level:
                grades[expected.name] = max(expected.grade, grades.get(expected.name, expected.grade))
        others = [e for e in query.expected if e.level != level]
        documents = [
            replace(query.expected[0], name=name, level="doc", grade=grade, doc="", start=0, end=0, page=0)
            for name, grade in grades.items()
        ]
        converted.append(replace(query, expected=(*documents, *others)))
    return converted, [f"{level} names are written as document ids"]
