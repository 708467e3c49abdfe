"""Kill indexers at random moments while others read: nothing may be lost or half visible.

    python benchmarks/kills.py REPOSITORY [--moments 200] [--readers 10] [--seed 1]

A clone of REPOSITORY is indexed from nothing (stage one, then stage two), from an empty index with a warm parse cache,
or from stage one; each run is killed at a random moment of its duration, now and then while a second indexer waits.
Readers open the index all the time. After every kill the index is none, the first stage or the complete one, as built
by an undisturbed run; the next run completes it.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from hashlib import blake2b
from pathlib import Path

from assay.index.pipeline import index
from assay.store.index import Index, NoIndex
from assay.store.layout import Home

READER = """
import sys, time
from pathlib import Path
from assay.store.index import Index, NoIndex
from assay.store.layout import Home

root, known, opened = Path(sys.argv[1]), set(sys.argv[2:]), 0
while not (root.parent / "stop").exists():
    try:
        index = Index.open(root, Home.of(root))
    except NoIndex:
        time.sleep(0.05)
        continue
    symbols = index.catalogue.connection.execute("SELECT count(*) FROM symbols").fetchone()[0]
    seen = f"{index.generation.stage} {symbols} {len(index.edges.all)} {len(index.postings.numbers)}"
    assert seen in known, seen
    index.close()
    opened += 1
    time.sleep(0.3)
print(opened)
"""


def describe(root: Path) -> tuple[str, str]:
    """Return a digest of all that an index says, and what readers compare."""
    opened = Index.open(root, Home.of(root))
    with contextlib.closing(opened):
        symbols, edges = opened.export()
        digest = blake2b(repr((symbols, edges)).encode(), digest_size=8).hexdigest()
        counts = f"{len(symbols)} {len(opened.edges.all)} {len(opened.postings.numbers)}"
        return digest, f"{opened.generation.stage} {counts}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--readers", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-kills-") as folder:
        root = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", options.repository.resolve(), root], check=True)
        run(root, options.moments, options.readers, random.Random(options.seed))


def run(root: Path, moments: int, readers: int, choose: random.Random) -> None:
    home, cache = Home.of(root), root / ".git" / "assay"
    command = [sys.executable, "-m", "assay", "index", "--wait", str(root)]
    index(root, home, wait=False)
    first = describe(root)
    index(root, home)
    complete = describe(root)
    assert first != complete
    processes = [
        subprocess.Popen([sys.executable, "-c", READER, str(root), first[1], complete[1]], stdout=subprocess.PIPE)
        for _ in range(readers)
    ]
    whole: dict[str, float] = {}
    found: Counter[str] = Counter()
    killed = 0
    for number in range(moments + 3):
        start = ("nothing", "parses", "first stage")[number % 3]
        home.pointer.unlink(missing_ok=True)  # readers find no index
        if start == "nothing":
            shutil.rmtree(cache, ignore_errors=True)
        elif start == "first stage":
            index(root, home, wait=False)
        began = time.monotonic()
        indexer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number < 3:  # how long it takes
            assert indexer.wait() == 0
            whole[start] = time.monotonic() - began
            continue
        second = (
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if number % 10 == 0
            else None
        )
        try:
            indexer.wait(whole[start] * choose.random())
            whole[start] = min(whole[start], time.monotonic() - began)  # it ended before it could be killed
        except subprocess.TimeoutExpired:
            indexer.kill()
            indexer.wait()
            killed += 1
        if second is not None:
            assert second.wait() == 0
        try:
            state = describe(root)
        except NoIndex:
            found[f"{start} → none"] += 1
        else:
            assert state in (first, complete), state
            found[f"{start} → {'complete' if state == complete else 'first stage'}"] += 1
        if number % 20 == 0:
            print(f"{number}: {dict(sorted(found.items()))}", file=sys.stderr, flush=True)
        if number % 5 == 0:
            index(root, home)
            assert describe(root) == complete
    index(root, home)
    assert describe(root) == complete
    (root.parent / "stop").touch()
    opened = [int(process.communicate()[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    leftovers = [path.name for path in home.generations.glob(".new-*")]
    print(
        f"{killed} of {moments} runs killed: {dict(sorted(found.items()))}; {sum(opened):,} reads by {readers} readers; left: {leftovers}"
    )


if __name__ == "__main__":
    main()
