"""Indexing time: cold, unchanged, one edited file, and growth with the size of the repository.

    python benchmarks/index.py [--django DIR] [--repeat N] [--json FILE]

Prints a table and writes JSON. Measured on Django 5.1's source distribution (downloaded from PyPI with pip into a cache folder unless --django
names an unpacked copy) and on synthetic repositories of 1×, 2×, 4× and 8× size. Every run starts from an empty index and an empty parse
cache. Peak memory is the largest proportional set size of the indexing process and its workers together, sampled every tenth of a second
in a run of its own. Edits append a function to a file of django/db/models: one of median size, in a process that stays (as a watcher does) and in
one that starts for it (imports not counted, compiling the query is), and the largest file (100 kB) in one that starts for it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

DJANGO = "5.1"
BUDGETS = {
    "cold_seconds": 12.0,
    "peak_megabytes": 600.0,
    "unchanged_seconds": 1.0,
    "edit_seconds": 0.3,
    "growth_per_doubling": 2.2,
}

_RUN = """
import json, sys, time
from pathlib import Path
from assay.index.pipeline import index
from assay.store.layout import Home
started = time.perf_counter()
report = index(Path(sys.argv[1]), Home(Path(sys.argv[2])))
print(json.dumps({"seconds": time.perf_counter() - started, "mode": report.mode, "files": report.files, "resolved": report.resolved}))
"""


_STAY = """
import sys, time
from pathlib import Path
from assay.index.pipeline import index
from assay.store.layout import Home
root, home, source = Path(sys.argv[1]), Home(Path(sys.argv[2])), Path(sys.argv[3])
index(root, home)
original = source.read_bytes()
times = []
for number in range(8):
    source.write_bytes(original + f"\\n\\ndef benchmark_{number}(queryset):\\n    return queryset.filter(pk={number})\\n".encode())
    started = time.perf_counter()
    assert index(root, home).mode == "update"
    times.append(time.perf_counter() - started)
source.write_bytes(original)
index(root, home)
print(sorted(times[1:])[len(times[1:]) // 2])
"""


def stay(root: Path, folder: Path, source: Path) -> float:
    """Seconds from an edit to its being in the index, in a process that stays; the first edit, which compiles the query, is left out."""
    command = [sys.executable, "-c", _STAY, str(root), str(folder), str(source)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run(root: Path, folder: Path) -> dict[str, Any]:
    """One indexing run in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(root), str(folder)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def peak(root: Path, folder: Path) -> float:
    """The most memory an indexing run and its workers hold together, in megabytes."""
    process = subprocess.Popen([sys.executable, "-c", _RUN, str(root), str(folder)], stdout=subprocess.DEVNULL)
    most = 0.0
    while process.poll() is None:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            numbers = [str(process.pid), *children.read_text().split()]
            most = max(most, sum(_proportional(number) for number in numbers) / 1024)
        except FileNotFoundError:
            pass
        time.sleep(0.1)
    return most


def _proportional(number: str) -> int:
    """A process's share of memory in kilobytes: pages it shares are divided among those who share them."""
    try:
        text = Path(f"/proc/{number}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def django(cache: Path) -> Path:
    """Django's source distribution, unpacked."""
    target = cache / f"Django-{DJANGO}"
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--dest",
            str(cache),
        ]
        subprocess.run([*command, f"django=={DJANGO}"], check=True)
        archive = next(path for path in cache.iterdir() if path.name.lower() == f"django-{DJANGO}.tar.gz")
        with tarfile.open(archive) as handle:
            handle.extractall(cache, filter="data")
    return target


def synthetic(folder: Path, factor: int) -> None:
    """40 × `factor` packages of ten modules; each uses its package's base class and calls its neighbours in the next package."""
    packages = 40 * factor
    for package in range(packages):
        home = folder / f"package_{package}"
        home.mkdir(parents=True)
        (home / "__init__.py").touch()
        (home / "base.py").write_text(f"class Base{package}:\n    def close(self):\n        return None\n")
        for module in range(10):
            neighbour = f"package_{(package + 1) % packages}.module_{module}"
            lines = [
                f"from .base import Base{package}",
                f"from {neighbour} import make_{module} as other",
                "import os",
                "",
            ]
            lines += [f"class Thing{module}(Base{package}):", '    """A thing of the benchmark."""', ""]
            for method in range(8):
                call = f"helper.work_{package}_{(method + 1) % 8}(os.getenv('X')) + value + other().size()"
                lines += [
                    f"    def work_{package}_{method}(self, value):",
                    f"        helper = Thing{module}()",
                    f"        return {call}",
                    "",
                ]
            lines += [f"def make_{module}() -> Thing{module}:", f"    return Thing{module}()", ""]
            (home / f"module_{module}.py").write_text("\n".join(lines))


def measure(root: Path, repeat: int) -> dict[str, float]:
    """Cold, unchanged and edited times of one repository; medians over `repeat` runs."""
    colds, unchanged, staying, typical, largest = [], [], [], [], []
    models = sorted((root / "django" / "db" / "models").glob("*.py"), key=lambda path: path.stat().st_size)
    for number in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            first = run(root, index)
            colds.append(first["seconds"])
            time.sleep(2.1)  # so that the files are older than the index and a stat is enough
            unchanged.append(run(root, index)["seconds"])
            staying.append(stay(root, index, models[len(models) // 2]))
            typical.append(edited(root, index, models[len(models) // 2], number))
            largest.append(edited(root, index, models[-1], number))
    with tempfile.TemporaryDirectory() as folder:
        memory = peak(root, Path(folder) / "index")
    return {
        "files": first["files"],
        "cold_seconds": statistics.median(colds),
        "peak_megabytes": memory,
        "unchanged_seconds": statistics.median(unchanged),
        "edit_seconds": statistics.median(staying),
        "edit_new_process_seconds": statistics.median(typical),
        "edit_largest_seconds": statistics.median(largest),
    }


def edited(root: Path, index: Path, source: Path, number: int) -> float:
    """Return the time until a function appended to a file is in the index."""
    original = source.read_bytes()
    source.write_bytes(
        original + f"\n\ndef benchmark_{number}(queryset):\n    return queryset.filter(pk={number})\n".encode()
    )
    try:
        done = run(root, index)
        assert done["mode"] == "update", done
        return float(done["seconds"])
    finally:
        source.write_bytes(original)
        run(root, index)


def growth(repeat: int) -> dict[str, float]:
    """Seconds at 1×, 2×, 4× and 8× and the largest factor between neighbours."""
    seconds = {}
    for factor in (1, 2, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "repository"
            synthetic(root, factor)
            seconds[factor] = statistics.median(
                run(root, Path(folder) / f"index_{n}")["seconds"] for n in range(repeat)
            )
            shutil.rmtree(root)
    factors = [seconds[b] / seconds[a] for a, b in ((1, 2), (2, 4), (4, 8))]
    return {**{f"seconds_{factor}x": value for factor, value in seconds.items()}, "growth_per_doubling": max(factors)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--django", type=Path, help="an unpacked Django source distribution")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the result here")
    arguments = parser.parse_args()
    root = arguments.django or django(Path(tempfile.gettempdir()) / "assay-benchmarks")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "django"
        shutil.copytree(root, copy)
        result = {**measure(copy, arguments.repeat), **growth(arguments.repeat)}
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    for name, value in result.items():
        budget = BUDGETS.get(name)
        verdict = "" if budget is None else f"   budget {budget:g}: {'kept' if value <= budget else 'MISSED'}"
        print(f"{name:22} {value:10.3f}{verdict}")
    text = json.dumps({"measured_on": f"Django {DJANGO}, synthetic", "machine": machine, **result}, indent=2)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
