"""Count how common terms are in code in general and write src/assay/rank/background.npz.

    python scripts/train_background.py --counts counts.json ROOT[=INDEX] ...

Each ROOT is an indexed clone; INDEX is the folder of its index, if that is elsewhere. `--counts` also keeps the shares by
repository, for benchmarks that leave some of them out. A term counts if several repositories have it, so that names of a
single project are no part of the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from assay.api import Repository  # noqa: E402
from assay.rank.arrays import Floats  # noqa: E402
from assay.rank.background import LEAST, STEPS, TABLE, shares  # noqa: E402

LONGEST = 20  # bytes of a term
REPOSITORIES = 3  # that have a term
MOST = 20_000  # terms, the most common ones

Counts = Mapping[str, Mapping[str, tuple[float, float]]]  # repository → term → shares


def usual_shares(counts: Counts, terms: Collection[str], without: Collection[str] = ()) -> Floats:
    """Return the mean shares of terms over repositories, some left out; zeros for a term that few of them have."""
    tables = [table for name, table in counts.items() if name not in without]
    usual = np.zeros((len(terms), 2))
    for row, term in enumerate(terms):
        having = [table[term] for table in tables if term in table]
        if len(having) >= REPOSITORIES:
            usual[row] = np.sum(having, axis=0) / len(tables)
    return usual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="ROOT[=INDEX]")
    parser.add_argument("--counts", type=Path, required=True, help="file for the shares by repository")
    given = parser.parse_args()
    counts: defaultdict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for text in given.repositories:
        root, _, folder = text.partition("=")
        words = Repository(Path(root), Path(folder) if folder else None).index.postings
        for term in words.terms_like(""):
            if len(term.encode()) <= LONGEST:
                counts[Path(root).name][term] = shares(words, term)
    given.counts.write_text(json.dumps(counts), "utf-8")
    vocabulary = sorted({term for table in counts.values() for term in table}, key=str.encode)
    usual = usual_shares(counts, vocabulary)
    chosen = np.sort(np.argsort(-usual[:, 0], kind="stable")[: min(MOST, np.count_nonzero(usual[:, 0]))])
    codes = np.clip(np.round(-np.log(usual[chosen] + LEAST) * STEPS), 0, 255).astype(np.uint8)
    terms = np.array([vocabulary[row].encode() for row in chosen], np.bytes_)
    np.savez_compressed(ROOT / "src/assay/rank" / TABLE, terms=terms, codes=codes)
    print(f"{len(terms):,} terms of {len(counts)} repositories")


if __name__ == "__main__":
    main()
