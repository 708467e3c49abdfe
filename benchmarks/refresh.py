"""Time of a question after an edit, with and without an update of the index before it, and the cost of an update.

    python benchmarks/refresh.py FOLDER [--suffix .py] [--repeat N] [--json FILE]

FOLDER is a repository; a copy of it is indexed and edited. A comment is appended to 1, 10 and 50 files with the suffix.
Prints, per number of files, the predicted time of an update (`assay.index.freshness`), its processor time in a process
that has compared the files, and the median wall time of `assay context TASK` before the edit (answered from the index),
after it with --no-refresh, and after it. The constants of the prediction, and `query_seconds` of the language table
(printed with --languages), come from here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_TASK = "how are errors reported to the user"
_MARKS = {".py": "#", ".rb": "#", ".sh": "#"}
_UPDATE = """
import json, os, sys
from pathlib import Path
from assay.api import Repository

def spent():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system

with Repository(Path(sys.argv[1]), sys.argv[2]) as repo:
    freshness = repo.freshness()
    before = spent()
    report = repo.refresh()
    print(json.dumps({"predicted": freshness.seconds, "spent": spent() - before, "resolved": report.resolved}))
"""


def _languages() -> dict[str, float]:
    """Return the seconds that the query of each language takes to compile."""
    from assay.languages import LANGUAGES

    out = {}
    for language in (row for row in LANGUAGES if row.grammar):
        _ = language.grammar_object
        started = time.process_time()
        _ = language.query_objects
        out[language.name] = round(time.process_time() - started, 3)
    return out


def _run(*arguments: str, folder: Path) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stdout


def _edit(files: list[Path], number: int) -> None:
    for path in files:
        with path.open("a") as file:
            file.write(f"\n{_MARKS.get(path.suffix, '//')} edited {number} {random.random()}\n")


def measure(folder: Path, suffix: str, repeat: int) -> list[dict[str, Any]]:
    """Return one row per number of edited files."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        root, index = Path(temporary) / "copy", f"{temporary}/index"
        shutil.copytree(folder, root, symlinks=True)
        question = ["-m", "assay", "context", _TASK, "--no-cache", "--index-dir", index]
        _run("-m", "assay", "index", "--index-dir", index, folder=root)
        sources = sorted(path for path in root.rglob(f"*{suffix}") if path.is_file() and not path.is_symlink())
        for count in (1, 10, 50):
            times: dict[str, list[float]] = {"answer": [], "stale": [], "updated": [], "spent": [], "predicted": []}
            for number in range(repeat):
                chosen = random.sample(sources, min(count, len(sources)))
                times["answer"].append(_run(*question, folder=root)[0])
                _edit(chosen, number)
                times["stale"].append(_run(*question, "--no-refresh", folder=root)[0])
                times["updated"].append(_run(*question, folder=root)[0])
                _edit(chosen, number)
                _, out = _run("-c", _UPDATE, str(root), index, folder=root)
                told = json.loads(out)
                times["spent"].append(told["spent"])
                times["predicted"].append(told["predicted"])
            rows.append({"files": count, **{name: round(statistics.median(own), 2) for name, own in times.items()}})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suffix", default=".py")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--languages", action="store_true", help="also print the compile time of each query")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    random.seed(1)
    rows = measure(options.folder.resolve(), options.suffix, options.repeat)
    print("files  predicted  spent  answer  stale  updated   (seconds)")
    for row in rows:
        print("{files:5}  {predicted:9}  {spent:5}  {answer:6}  {stale:5}  {updated:7}".format(**row))
    languages = _languages() if options.languages else {}
    for name, seconds in languages.items():
        print(f"{name:12} {seconds}")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "languages": languages}, indent=2) + "\n")


if __name__ == "__main__":
    main()
