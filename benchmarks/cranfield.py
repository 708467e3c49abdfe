"""Lexical, dense and hybrid ranking on the Cranfield collection: 1,400 abstracts, 225 questions, graded judgements.

    python benchmarks/cranfield.py FOLDER [--embedder SPEC …] [--reranker SPEC …]

FOLDER holds cran.all.1400, cran.qry and QRelsCorrectedforTRECeval. Prints markdown: nDCG@10 and R@100 of BM25 (our terms; k1 1.5, b 0.75 as
bm25s has them; the question without words that only ask), of each embedder alone, and of both: by reciprocal rank fusion (k 60), and by the mean of
scores brought to 0…1. Differences from BM25 come with 95 % intervals and the p of a paired randomisation test. Then each reranker on the first 50
of the last embedder's hybrid.

In the original judgements (cranqrel) a document is marked -1 once for each question. It is the one the question was asked about, not one of no
interest: BM25 has it at rank 2 in the median, those marked as complete answers at 10. The corrected file gives it the highest grade.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import bm25
import numpy as np
from bm25 import Bags
from numpy.typing import NDArray

from assay.embed import Candidate, Nearest, embed_all, embedder, reranker
from assay.evaluate.metrics import dicts
from assay.evaluate.statistics import paired
from assay.retrieve.lexical import query_terms
from assay.text.terms import terms

MEASURES = ("nDCG@10", "R@100")
RRF = 60
RERANKED = 50
REPEATS = 9  # a word of a question counts as often as it stands there

Floats = NDArray[np.float64]


class Collection(NamedTuple):
    """Documents (title, text) and questions by id, and graded judgements."""

    documents: dict[str, tuple[str, str]]
    questions: dict[str, str]
    judgements: dict[str, dict[str, int]]

    @property
    def texts(self) -> list[str]:
        """Abstracts begin with their title; the few that do not get it."""
        return [text if text.startswith(title[:20]) else f"{title} {text}" for title, text in self.documents.values()]


def read(folder: Path) -> Collection:
    """The collection; its judgements count questions by place, not by the number they carry."""
    documents = {
        number: (parts.get("T", ""), parts.get("W", "")) for number, parts in _records(folder / "cran.all.1400")
    }
    asked = [parts["W"] for _, parts in _records(folder / "cran.qry")]
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "QRelsCorrectedforTRECeval").read_text().splitlines():
        if line.strip():
            question, _, document, grade = line.split()
            judgements.setdefault(question, {})[document] = int(grade)
    return Collection(documents, {str(place): text for place, text in enumerate(asked, 1)}, judgements)


def _records(path: Path) -> list[tuple[str, dict[str, str]]]:
    blocks = re.split(r"^\.I ", path.read_text("latin-1"), flags=re.M)[1:]
    found = [(block.partition("\n")[0], re.split(r"^\.([TABW])[ \t]*$", block, flags=re.M)[1:]) for block in blocks]
    return [
        (str(int(number)), {key: " ".join(text.split()) for key, text in zip(rest[::2], rest[1::2], strict=True)})
        for number, rest in found
    ]


def lexical(collection: Collection) -> Floats:
    """BM25 of every document for every question."""
    bm25.K1 = 1.5
    bags = [Counter(terms(text)) for text in collection.texts]
    vocabulary = sorted(set().union(*bags))
    places = {term: place for place, term in enumerate(vocabulary)}
    rows = [(places[term], number, count) for number, bag in enumerate(bags) for term, count in bag.items()]
    columns = np.array(rows, np.int64).T
    bags_of_words = Bags(vocabulary, columns[0], columns[1], columns[2])
    return np.array([bags_of_words.scores(query_terms(text, REPEATS)) for text in collection.questions.values()])


def dense(collection: Collection, spec: str) -> tuple[Floats, float]:
    """Cosines of every document for every question, and how many documents a second were embedded."""
    chosen = embedder(spec, corpus=collection.texts)
    started = time.process_time()
    nearest = Nearest(embed_all(chosen, collection.texts))
    speed = len(collection.texts) / (time.process_time() - started)
    asked = embed_all(chosen, list(collection.questions.values()), role="query")
    scores = np.zeros((len(asked), len(collection.texts)))
    for row, question in enumerate(asked):
        found = nearest.search(question, len(collection.texts))
        scores[row, found.rows] = found.scores
    return scores, speed


def by_ranks(*systems: Floats) -> Floats:
    ranks = [np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) for scores in systems]
    return np.sum([1 / (RRF + 1 + rank) for rank in ranks], axis=0)


def by_scores(*systems: Floats) -> Floats:
    """The mean of scores, each question's brought to 0…1 in each system."""
    return np.mean([(s - s.min(1, keepdims=True)) / np.ptp(s, axis=1, keepdims=True) for s in systems], axis=0)


def reranked(collection: Collection, scores: Floats, spec: str) -> Floats:
    """The first 50 of each question in a reranker's order, before all others."""
    chosen, documents, out = reranker(spec), list(collection.documents.values()), scores.copy()
    for row, question in enumerate(collection.questions.values()):
        best = np.argsort(-scores[row], kind="stable")[:RERANKED]
        candidates = [Candidate(documents[place][1], documents[place][0], float(scores[row, place])) for place in best]
        judged = chosen.scores(question, candidates)
        out[row, best] = 10 + np.argsort(np.argsort(judged, kind="stable"), kind="stable")
    return out


def measured(collection: Collection, scores: Floats) -> dict[str, Floats]:
    """Each measure for each question."""
    names, run = list(collection.documents), {}
    for question, row in zip(collection.questions, scores, strict=True):
        best = np.argsort(-row, kind="stable")[:100]
        run[question] = {names[place]: float(-rank) for rank, place in enumerate(best)}
    found = dicts.evaluate(collection.judgements, run, MEASURES)
    return {name: np.array([found[name][question] for question in collection.questions]) for name in MEASURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", nargs="*", default=["lsa"])
    parser.add_argument("--reranker", nargs="*", default=["features"])
    arguments = parser.parse_args()
    collection = read(arguments.folder)
    words = lexical(collection)
    base = measured(collection, words)
    print(
        "| system | nDCG@10 | R@100 | nDCG@10 − BM25 | 95 % interval | p | texts per CPU second |\n|---|---|---|---|---|---|---|"
    )

    def show(name: str, scores: Floats, note: str = "") -> None:
        values = measured(collection, scores)
        against = paired(base["nDCG@10"], values["nDCG@10"])
        means = " | ".join(f"{values[measure].mean():.4f}" for measure in MEASURES)
        interval = f"{against.interval.low:+.3f} … {against.interval.high:+.3f}"
        print(f"| {name} | {means} | {against.delta:+.4f} | {interval} | {against.p:.3f} | {note} |", flush=True)

    show("BM25", words)
    hybrid = words
    for spec in arguments.embedder:
        vectors, speed = dense(collection, spec)
        label = spec.rpartition("/")[2]
        hybrid = by_scores(words, vectors)
        show(label, vectors, f"{speed:,.0f}")
        show(f"BM25 + {label}, ranks", by_ranks(words, vectors))
        show(f"BM25 + {label}, scores", hybrid)
    for spec in arguments.reranker:
        show(f"BM25, reranked by {spec}", reranked(collection, words, spec))
        show(f"hybrid, reranked by {spec}", reranked(collection, hybrid, spec))


if __name__ == "__main__":
    main()
