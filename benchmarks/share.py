"""Time of publishing and pulling an index, against building it, in one run.

    python benchmarks/share.py REPOSITORY [--changed N]

REPOSITORY is cloned twice. The index of one clone is built and published to a folder, and pulled into the other; then N
files of that clone are edited and it is pulled again. Prints wall and processor seconds of each step, and sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def _timed(name: str, *arguments: str | Path, root: Path) -> str:
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "assay", *map(str, arguments), "--root", str(root), "--format", "json"],
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    after, wall = os.times(), time.perf_counter() - started
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{name:<28} {wall:7.2f} s  {spent:7.2f} CPU s")
    if done.returncode > 1:
        sys.exit(f"{name} failed")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--changed", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for clone in ("a", "b"):
            subprocess.run(["git", "clone", "-q", arguments.repository, folder / clone], check=True)
        _timed("build", "index", root=folder / "a")
        published = json.loads(_timed("publish", "publish", folder / "place", root=folder / "a"))
        _timed("publish again", "publish", folder / "place", root=folder / "a")
        pulled = json.loads(_timed("pull", "pull", folder / "place", root=folder / "b"))
        files = sorted((folder / "b").rglob("*.py"))[: arguments.changed]
        for path in files:
            path.write_text(path.read_text() + "\n\ndef added_here():\n    return 1\n")
        again = json.loads(_timed(f"pull, {len(files)} files edited", "pull", folder / "place", root=folder / "b"))
        stored = sum(path.stat().st_size for path in (folder / "place").rglob("*") if path.is_file())
    print(
        f"published {published['bytes'] / 1e6:.1f} MB (place: {stored / 1e6:.1f} MB), {pulled['same']} files the same"
    )
    print(f"update after edits: {again['update']['mode']}, {again['update']['parsed']} parsed")


if __name__ == "__main__":
    main()
