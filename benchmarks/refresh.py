"""CPU seconds until an index shows what changed, of one version of assay or of two in turn.

    python benchmarks/refresh.py FOLDER [--source SRC]... [--commits 20] [--repeat 5] [--languages]

FOLDER is a git repository, SRC a `src` of assay (default: the installed one). Each version indexes a clone as it was 20
commits ago and follows them one by one; then files are edited and touched. Rows are medians, workers and git included.
The constants of `predicted` (`assay.index.freshness`), and `query_seconds` of the language table (--languages), come
from here. `copied generation`: reading, summing and writing all files of an index, most of which hardly change.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# runs in a process of its own, with PYTHONPATH set to the version under test; prints the figures as JSON
_WORKER = """
import json, os, random, shutil, subprocess, sys, time, zlib
from pathlib import Path
from assay.api import Repository
from assay.index.pipeline import index
root, commits, repeat = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
figures = {}
def cpu():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
def timed(row, action):
    before = cpu()
    action()
    figures.setdefault(row, []).append(cpu() - before)
def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout
def ask():
    command = [sys.executable, "-m", "assay", "context", "how are errors reported", "--no-cache"]
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL)
home = Repository(root).home
walk = git("rev-list", "--reverse", "--first-parent", f"HEAD~{commits}..HEAD").split()
git("checkout", "-q", f"HEAD~{commits}")
index(root, home)
for commit in walk:
    git("checkout", "-q", commit)
    timed("commit", lambda: index(root, home))
sizes = {path: os.path.getsize(root / path) for path in git("ls-files").split("\\n") if path.endswith((".py", ".ts", ".go", ".java", ".rb"))}
sources = sorted((path for path in sizes if sizes[path]), key=sizes.get)
manifest = next((path for path in git("ls-files").split("\\n") if Path(path).name in ("package.json", "go.mod", "Cargo.toml")), "")
random.seed(1)
for number in range(repeat):
    middle = root / random.choice(sources[len(sources) // 4 : -len(sources) // 4])
    mark = "//" if middle.suffix in (".ts", ".go", ".java") else "#"
    for row, action in (("one edited file", lambda: index(root, home, history=False)), ("one edited file, new process", ask)):
        with middle.open("a") as file:
            file.write(f"\\n{mark} {random.random()}\\n")
        figures.setdefault("predicted", []).append(Repository(root).freshness().seconds)
        timed(row, action)
    for path in sources[-3:]:  # the largest, with their definitions: another name for the same is enough
        text = (root / path).read_text()
        (root / path).write_text(text.replace("filter(", "sieve(") if number % 2 == 0 else text.replace("sieve(", "filter("))
    timed("three files with dependents", lambda: index(root, home, history=False))
    for row, paths in (("touched manifest", [manifest] * bool(manifest)), ("1,000 touched files", random.sample(sources, min(1000, len(sources))))):
        for path in paths:
            os.utime(root / path, (1e9 + number, 1e9 + number))
        timed(row, lambda: Repository(root).update_if_quick())
        timed(row + ", again", lambda: Repository(root).update_if_quick())
    def copy():
        for path in home.current().iterdir():
            zlib.crc32(data := path.read_bytes()) and (root / ".assay" / "copy").write_bytes(data)
    timed("copied generation", copy)
figures["commit, maximum"] = [max(figures["commit"], default=0)]
print(json.dumps(figures))
"""


def _languages() -> dict[str, float]:
    """Return the seconds that the query of each language takes to compile."""
    from assay.languages import LANGUAGES

    out = {}
    for language in (row for row in LANGUAGES if row.grammar and row.grammar_object):
        started, _ = time.process_time(), language.query_objects
        out[language.name] = round(time.process_time() - started, 3)
    return out


def measure(folder: Path, source: Path | None, commits: int, repeat: int) -> dict[str, float]:
    """Return the figures of one version on a fresh clone."""
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary) / folder.name
        subprocess.run(["git", "clone", "-q", str(folder), str(clone)], check=True)
        environment = os.environ | ({"PYTHONPATH": str(source.resolve())} if source else {})
        command = [sys.executable, "-c", _WORKER, str(clone), str(commits), str(repeat)]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return {row: round(statistics.median(values), 3) for row, values in figures.items() if values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", type=Path, action="append")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--languages", action="store_true", help="also print the compile time of each query")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sources = options.source or [None]
    versions = [measure(options.folder.resolve(), source, options.commits, options.repeat) for source in sources]
    for row in versions[0]:
        print(f"{row:30}", *(f"{version[row]:8}" for version in versions))
    for name, seconds in _languages().items() if options.languages else ():
        print(f"{name:12} {seconds}")


if __name__ == "__main__":
    main()
