"""The public histories used for training: repositories, commits and tasks.

scripts/histories.json names them; nothing of them is kept here. `benchmarks/mined.py --work DIR --tasks 100 CLONE…` prepares them, each clone at the
`head` of its row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from time_split import STATE, TASKS

from assay.errors import AssayError
from assay.git import Git

MANIFEST = Path(__file__).parent.parent / "scripts/histories.json"


def prepared_as_named(work: Path, wanted: Callable[[dict[str, Any]], bool] = lambda row: True) -> list[Path]:
    """The folders of the repositories that are named, each checked to be what was learned from."""
    rows = [row for row in json.loads(MANIFEST.read_text("utf-8"))["repositories"] if wanted(row)]
    for row in rows:
        folder = work / row["name"]
        if not (folder / TASKS).exists():
            raise AssayError(f"{folder}: not prepared; clone {row['repository']} and run benchmarks/mined.py")
        found = {"cutoff": Git(folder / STATE).ask("rev-parse", "HEAD"), "digest": digest(folder / TASKS)}
        for what, value in found.items():
            if value != row[what]:
                raise AssayError(f"{folder}: its {what} is {value}, in {MANIFEST.name} it is {row[what]}")
    return [work / row["name"] for row in rows]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
