"""How fast `assay search` is: many passages made of the words of a real vocabulary's shape (Zipf), searched with questions of four words.

python benchmarks/search.py [--passages 100000]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import assay
from assay.retrieve.search import Search
from assay.store import passages
from assay.store.passages import Divided, PassageFacts, Passages

VOCABULARY, WORDS, PER_DOCUMENT, QUESTIONS = 50_000, 120, 20, 200
_LETTERS = str.maketrans("0123456789", "abfhjkopqz")
SHAPE = 1.3  # of the Zipf distribution: a few words are nearly everywhere, most are rare


def corpus(count: int) -> list[Divided]:
    chance = np.random.default_rng(7)
    drawn = np.minimum(chance.zipf(SHAPE, (count, WORDS)), VOCABULARY).tolist()
    texts = [[_word(number) for number in row] for row in drawn]
    facts = [PassageFacts(" ".join(t), (t[-1],), (1, 2), (0, 9), 0, Counter(t)) for t in texts]
    return [Divided(f"d{n}.md", "markdown", facts[n : n + PER_DOCUMENT]) for n in range(0, count, PER_DOCUMENT)]


def _word(number: int) -> str:
    """A word that is its own stem."""
    return "x" + str(number).translate(_LETTERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    count = parser.parse_args().passages
    documents = corpus(count)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "code.py").write_text("def pump():\n    return 1\n")
        path = Path(folder) / "passages.npz"
        started = time.perf_counter()
        passages.write(path, "key", "structure:512@1", documents)
        spent = time.perf_counter() - started
        print(f"writing: {count / spent:,.0f} passages a second, {path.stat().st_size / 1e6:.0f} MB")
        with assay.open(folder, index=True) as repo:
            search = Search(repo.index, Passages.open(path))
            random.seed(7)
            told = []
            for _ in range(QUESTIONS):
                words = " ".join(_word(min(int(random.paretovariate(SHAPE - 1)), VOCABULARY)) for _ in range(4))
                started = time.perf_counter()
                search.ranked(words)
                told.append(1000 * (time.perf_counter() - started))
    first, *rest = told
    p50, p95 = np.percentile(rest, [50, 95])
    print(f"{count:,} passages: first question {first:.0f} ms, then p50 {p50:.1f} ms, p95 {p95:.1f} ms")


if __name__ == "__main__":
    main()
