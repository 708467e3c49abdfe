"""Latency of `assay search` on synthetic passages with a Zipfian vocabulary and four-term queries, without much code.

python benchmarks/search.py [--passages 100000] [--embedder lsa]
python benchmarks/search.py --first ROOT      only the first search after an index of ROOT: seconds of CPU
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import assay
from assay.search.embed.embedders import GENERAL
from assay.search.embed.vector_index import prepare
from assay.search.search import Search
from assay.store import passages
from assay.store.passages import ChunkedDocument, PassageFacts, Passages
from assay.store.word_vectors import TextVectors, load_table
from assay.text.terms import stem

CHUNKER = "structure:512"
VOCABULARY, WORDS, PER_DOCUMENT, QUESTIONS = 50_000, 120, 20, 200
_LETTERS = str.maketrans("0123456789", "abfhjkopqz")
SHAPE = 1.3  # of the Zipf distribution: a few words are nearly everywhere, most are rare


def corpus(count: int) -> list[ChunkedDocument]:
    chance = np.random.default_rng(7)
    drawn = np.minimum(chance.zipf(SHAPE, (count, WORDS)), VOCABULARY).tolist()
    texts = [[_word(number) for number in row] for row in drawn]
    facts = [PassageFacts(" ".join(t), (t[-1],), (1, 2), (0, 9), 0, Counter(t)) for t in texts]
    return [ChunkedDocument(f"d{n}.md", "markdown", facts[n : n + PER_DOCUMENT]) for n in range(0, count, PER_DOCUMENT)]


@cache
def _known() -> list[str]:
    """Words of the general table that are their own stems."""
    return [word for word in sorted(load_table().row_of) if word.isalpha() and len(word) > 3 and stem(word) == word]


def _word(number: int) -> str:
    """A word that is its own stem: one that has a general vector, as far as they go."""
    known = _known()
    return known[number] if number < len(known) else "x" + str(number).translate(_LETTERS)


def timed(ask: Callable[[str], object]) -> str:
    """The median and the slowest of questions, the first left out: it opens what the others find open."""
    random.seed(7)
    told = []
    for _ in range(QUESTIONS + 1):
        words = " ".join(_word(min(int(random.paretovariate(SHAPE - 1)), VOCABULARY)) for _ in range(4))
        started = time.perf_counter()
        ask(words)
        told.append(1000 * (time.perf_counter() - started))
    told = sorted(told[1:])
    return f"p50 {told[len(told) // 2]:.1f} ms, p95 {told[int(0.95 * len(told))]:.1f} ms"


def first_search(root: Path) -> str:
    """Return the CPU time of the first search after an index, which makes passages and vectors."""
    with (
        tempfile.TemporaryDirectory() as folder,
        assay.open(root, index=True, index_dir=Path(folder) / "index") as repo,
    ):
        started = time.process_time()
        searcher = repo.searcher()
        searcher.ranked("how do I configure retries")
        spent = time.process_time() - started
        return f"first search, {len(searcher.passages):,} passages: {spent:.1f} s of CPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--embedder", default="lsa")
    parser.add_argument("--first", type=Path, metavar="ROOT", help="measure the first search in this repository")
    given = parser.parse_args()
    if given.first:
        print(first_search(given.first))
        return
    count = given.passages
    documents = corpus(count)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "code.py").write_text("def pump():\n    return 1\n")
        with assay.open(folder, index=True) as repo:
            path = passages.path_of(repo.home.folder, CHUNKER)
            started = time.perf_counter()
            passages.write(path, "key", CHUNKER, documents)
            spent = time.perf_counter() - started
            print(f"writing: {count / spent:,.0f} passages a second, {path.stat().st_size / 1e6:.0f} MB")
            stored = Passages.open(path)
            general = prepare(repo.home, repo.root, CHUNKER, stored, GENERAL)
            search = Search(repo.index, stored, repo.engine(), general=general, table=TextVectors(load_table()))
            started = time.perf_counter()
            meaning = prepare(repo.home, repo.root, CHUNKER, search.passages, given.embedder)
            spent = time.perf_counter() - started
            print(f"embedding with {given.embedder}, training included: {count / spent:,.0f} passages a second")
            started = time.perf_counter()
            opened = prepare(repo.home, repo.root, CHUNKER, search.passages, given.embedder)
            print(f"opening the vectors again: {1000 * (time.perf_counter() - started):.0f} ms")
            search.vector_index = opened
            how = "exactly" if opened.nearest.exact else f"approximately, recall@10 {meaning.nearest.recall():.3f}"
            print(f"{count:,} passages, words alone: {timed(search.ranked)}")
            print(f"{count:,} passages, words and meaning ({how}): {timed(search.ranked)}")


if __name__ == "__main__":
    main()
