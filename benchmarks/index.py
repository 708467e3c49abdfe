"""How fast indexing is: cold, unchanged, one edited file, and how it grows with the size of the repository.

    python benchmarks/index.py [--django DIR] [--repeat N] [--json FILE]

Prints a table and writes JSON. Measured on Django 5.1's source distribution (downloaded from PyPI with pip into a cache folder unless --django
names an unpacked copy) and on synthetic repositories of 1×, 2×, 4× and 8× size. Every run starts from an empty index and an empty parse
cache. Peak memory is the largest resident set of the indexing process plus that of its largest worker times the number of workers: an upper bound.
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

DJANGO = "5.1"
BUDGETS = {
    "cold_seconds": 12.0,
    "peak_megabytes": 600.0,
    "unchanged_seconds": 1.0,
    "edit_seconds": 0.3,
    "growth_per_doubling": 2.2,
}

_RUN = """
import json, resource, sys, time
from pathlib import Path
from assay.ingest.pipeline import index
from assay.store.layout import Home
started = time.perf_counter()
report = index(Path(sys.argv[1]), Home(Path(sys.argv[2])))
seconds = time.perf_counter() - started
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"seconds": seconds, "mode": report.mode, "files": report.files, "resolved": report.resolved, "own": own, "worker": worker}))
"""


def run(root: Path, folder: Path) -> dict[str, float]:
    """One indexing run in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(root), str(folder)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


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
    colds, unchanged, edits, peaks = [], [], [], []
    source = max((p for p in (root / "django" / "db" / "models").glob("*.py")), key=lambda p: p.stat().st_size)
    original = source.read_bytes()
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        for number in range(repeat):
            with tempfile.TemporaryDirectory() as folder:
                first = run(root, Path(folder) / "index")
                colds.append(first["seconds"])
                peaks.append((first["own"] + first["worker"] * workers) / 1024)
                time.sleep(2.1)  # so that the files are older than the index and a stat is enough
                run(root, Path(folder) / "index")
                unchanged.append(run(root, Path(folder) / "index")["seconds"])
                source.write_bytes(
                    original
                    + f"\n\ndef benchmark_{number}(queryset):\n    return queryset.filter(pk={number})\n".encode()
                )
                edited = run(root, Path(folder) / "index")
                assert edited["mode"] == "update", edited
                edits.append(edited["seconds"])
                source.write_bytes(original)
    finally:
        source.write_bytes(original)
    return {
        "files": first["files"],
        "cold_seconds": statistics.median(colds),
        "peak_megabytes": max(peaks),
        "unchanged_seconds": statistics.median(unchanged),
        "edit_seconds": statistics.median(edits),
    }


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
