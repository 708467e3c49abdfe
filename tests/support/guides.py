"""The shell examples of a guide, run as they are."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from support.command import COMMAND, ENVIRONMENT
from support.paths import ROOT


def run_examples(page: str, folder: Path) -> str:
    """Run the `sh` blocks of docs/guides/PAGE in an empty folder, one after the other; return what they print."""
    guide = (ROOT / "docs/guides" / page).read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", guide, re.S | re.M)
    work = folder / "work"
    work.mkdir()
    environment = environment_with_assay(folder / "bin")
    script = "set -e\n" + "\n".join(blocks)
    done = subprocess.run(
        ["bash", "-c", script], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment_with_assay(folder: Path) -> dict[str, str]:
    """Return an environment whose PATH begins with a new folder that holds the command `assay`."""
    program = folder / "assay"
    folder.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(shlex.quote(part) for part in COMMAND)} "$@"\n')
    program.chmod(0o755)
    return ENVIRONMENT | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
