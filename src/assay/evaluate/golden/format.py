"""What a golden-set format is: how it is recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.golden import GoldenQuery
from assay.evaluate.golden.problems import Problems


@dataclass(frozen=True, slots=True)
class Rendered:
    """A set as text: by path inside its folder, or under "" when it is one file. `lost` says what the format cannot hold."""

    files: dict[str, str]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats."""

    name: str
    description: str  # one line, for people who choose
    detect: Callable[[Path], bool]
    read: Callable[[Path, Problems], list[GoldenQuery]]
    render: Callable[[Sequence[GoldenQuery]], Rendered]
    # the texts of a set at a path with one query more: only the files that change
    extend: Callable[[GoldenQuery, Path], Rendered] | None = None
    folder: bool = False  # a set is a folder of files
