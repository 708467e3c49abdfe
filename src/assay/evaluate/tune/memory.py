"""Figures that were measured before, so that a tuning which was killed goes on: a file of lines, one for some queries by one setting.

A file belongs to one state of everything a figure depends on, which is its name. Lines are added whole; a torn last one is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.system.inputs import read_lines

_LARGEST = 128_000_000  # bytes: a thousand settings on a thousand queries take a quarter
_KEPT = 3  # states; older ones are of no index that there still is

Known = dict[str, dict[str, float]]  # setting → query → figure


class Memory:
    """The figures of one state, on disk."""

    def __init__(self, folder: Path, state: str) -> None:
        self._path = folder / f"{state}.jsonl"
        self.known = _read(self._path)
        self.before = sum(len(figures) for figures in self.known.values())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch()
            for old in sorted(folder.glob("*.jsonl"), key=lambda path: -path.stat().st_mtime_ns)[_KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise AssayError(f"{self._path}: cannot be written ({error.strerror or error})") from None

    def add(self, setting: str, figures: Mapping[str, float]) -> None:
        """Some queries more by a setting."""
        self.known.setdefault(setting, {}).update(figures)
        line = json.dumps([setting, {query: None if math.isnan(one) else one for query, one in figures.items()}])
        try:
            with self._path.open("ab") as file:
                file.write(f"\n{line}".encode())  # the break first: what a kill tore stays by itself
        except OSError as error:
            raise AssayError(f"{self._path}: cannot be written ({error.strerror or error})") from None


def _read(path: Path) -> Known:
    known: Known = {}
    try:
        for _, line in read_lines(path, _LARGEST):
            try:
                setting, figures = json.loads(line)
                read = {str(query): math.nan if one is None else float(one) for query, one in figures.items()}
            except (ValueError, TypeError, AttributeError, RecursionError):
                continue
            known.setdefault(str(setting), {}).update(read)
    except FileNotFoundError:
        return {}
    except AssayError as error:
        raise AssayError(f"{error}; remove it") from None
    return known
