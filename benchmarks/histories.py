"""The public histories used for training: repositories, commits and tasks.

scripts/histories.json names those that the ranker of commits learned from (`repositories`), and others that its confidence
is fitted on (`confidence`); nothing of them is kept here. `benchmarks/mined.py --work DIR --tasks 100 CLONE…` prepares them, each clone at the
`head` of its row.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from time_split import STATE, TASKS

from assay.errors import AssayError
from assay.git import Git

MANIFEST = Path(__file__).parent.parent / "scripts/histories.json"


def prepared_as_named(work: Path, purpose: str = "repositories") -> list[Path]:
    """Return the folders of the repositories named for a purpose, each checked to be what was learned from."""
    rows: list[dict[str, Any]] = json.loads(MANIFEST.read_text("utf-8"))[purpose]
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
