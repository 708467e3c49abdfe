"""Running the real `assay` command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assay as package

COMMAND = [sys.executable, "-m", "assay"]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(package.__file__).parents[1]),
    "PYTHONIOENCODING": "utf-8",
    "LC_ALL": "C.UTF-8",
}


@dataclass(frozen=True)
class Done:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def assay(folder: Path, *arguments: str | Path, **options: Any) -> Done:
    """Runs a command in a folder. Whatever happens, nobody is shown a traceback."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)
