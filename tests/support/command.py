"""The real `assay` command in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import assay as package
from assay.cli import main
from support import warm_process
from support.waiting import PATIENCE

COMMAND = [sys.executable, "-m", "assay"]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(package.__file__).parents[1]),
    "PYTHONIOENCODING": "utf-8",
    "LC_ALL": "C.UTF-8",
}


@dataclass(frozen=True)
class Done:
    """Output and exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def assay(folder: Path, *arguments: str | Path, input: str = "", **options: Any) -> Done:
    """Run a command in a folder. Whatever happens, nobody is shown a traceback.

    Without options for the process, one that has imported everything forks itself (see `warm_process`).
    """
    written = list(map(str, arguments))
    if options:
        piped: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | {"env": ENVIRONMENT}
        with subprocess.Popen([*COMMAND, *written], cwd=folder, **piped | options) as process:
            try:
                out, err = process.communicate(input.encode() or None, PATIENCE)
            finally:
                process.kill()
        code = process.returncode
    else:
        code, out, err, _ = warm_process.run(folder, written, ENVIRONMENT, PATIENCE, input.encode())
    assert b"Traceback" not in err, err.decode()
    return Done(code, out.decode(), err.decode())


def assay_here(folder: Path, *arguments: str | Path) -> Done:
    """Run a command in this very process, which is quick and sees what a test replaces."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", ["assay", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Done(int(str(ended.value.code)), out.getvalue(), err.getvalue())
