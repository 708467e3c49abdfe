"""Definitions whose names share no word with the task, as candidates: the task corpus by rankers that never saw the repository.

    python benchmarks/synonyms.py --work WORK --models FOLDER [--split train development] [--learned]
    python benchmarks/synonyms.py --own ROOT          the fixtures of an indexed clone of this repository, shipped ranker

A channel proposes the definitions whose names are best covered by words similar to the task's. What is similar:
`vectors`, the general word vectors that ship with assay; `together`, latent semantic analysis of the repository's own
definitions (names, signatures, comments, identifiers); `both`, the higher of the two. FOLDER has the rankers that
framework_classes.py trained. `--learned` trains rankers on candidates with the channel, its place as a feature.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

import train_ranker
from framework_classes import MEASURES, constant, models, row
from task_corpus import Corpus, Judged, corpora

import assay.rank.ranker
from assay.evaluate.golden import load
from assay.rank.candidates import Candidates
from assay.rank.engine import Engine
from assay.rank.features import FEATURES, Feature, matrix
from assay.rank.profile import CHANNELS, PROFILES
from assay.rank.signals.signal import Signal, Stage
from assay.rank.signals.table import BY_STAGE
from assay.store.columns import KIND_NAMES
from assay.store.index import Index
from assay.store.postings import NAME
from assay.store.word_vectors import TextVectors, shipped_table, unit

MOST = 20  # definitions proposed
NEAREST, VECTORS, TOGETHER = 5, 0.45, 0.45  # similar words of a word, and from which cosine on
DIMENSIONS = 100
SOURCES = ("vectors", "together", "both")
KNOWN = 0.5  # weight of a name's word that the task has itself


class Vocabulary:
    """The words of an index's names, and which are similar."""

    def __init__(self, index: Index) -> None:
        (self._segment,) = index.postings._segments
        self.terms = [term.decode("utf-8", "replace") for term in self._segment.vocabulary()]
        self.place = {term: place for place, term in enumerate(self.terms)}
        terms, items = index.postings.having(NAME)
        size = len(index.postings.lengths)
        kinds = np.array([kind not in ("", "file", "module", "namespace") for kind in KIND_NAMES])[index.columns.kind]
        kept = (kinds & ~index.columns.test)[items]
        self.names = csr_matrix((np.ones(kept.sum(), np.float32), (terms[kept], items[kept])), (len(self.terms), size))
        self.in_names = np.flatnonzero(np.diff(self.names.indptr))
        self.idf = np.log1p(size / np.maximum(np.diff(self.names.indptr), 1)).astype(np.float32)
        self.rarity = np.asarray(self.names.T @ self.idf)  # of the words of each name

    @cached_property
    def vectors(self) -> np.ndarray:
        table = TextVectors(shipped_table())
        rows = [table.table.row_of.get(term) for term in self.terms]
        known = {place: found for place, found in enumerate(rows) if found is not None}
        out = np.zeros((len(rows), table.table.dimensions), np.float32)
        out[[*known]] = table.words(known.values())
        return out

    @cached_property
    def together(self) -> np.ndarray:
        """Vectors of the words by the definitions that they occur in."""
        segment = self._segment
        starts = np.append(segment._starts["row"], len(segment._items))[: len(self.terms) + 1]
        counts = np.log1p(segment._counts.sum(axis=1).astype(np.float32))
        matrix = csr_matrix((counts, segment._items.astype(np.int64), starts), (len(self.terms), len(self.rarity)))
        frequencies = np.diff(matrix.indptr)
        kept = diags(((frequencies >= 3) * np.log(len(self.rarity) / np.maximum(frequencies, 1))).astype(np.float32))
        left, strengths, _ = svds(kept @ matrix, k=min(DIMENSIONS, min(matrix.shape) - 1), random_state=0)
        return unit((left * strengths).astype(np.float32))

    def similar(self, term: str, source: str) -> dict[int, float]:
        """Return the places of words in names that are similar to a term, with the similarity."""
        found: dict[int, float] = {}
        place = self.place.get(term)
        for name, least in (("vectors", VECTORS), ("together", TOGETHER)):
            if source not in (name, "both"):
                continue
            rows: np.ndarray = getattr(self, name)
            if place is not None:
                vector = rows[place]
            elif name == "vectors" and (row := shipped_table().row_of.get(term)) is not None:
                vector = TextVectors(shipped_table()).words([row])[0]
            else:
                continue
            cosine = rows[self.in_names] @ vector
            for best in np.argsort(-cosine)[: NEAREST + 1]:
                other = int(self.in_names[best])
                if cosine[best] >= least and other != place:
                    found[other] = max(found.get(other, 0.0), float(cosine[best]))
        return found

    def proposed(self, terms: list[str], source: str) -> list[int]:
        """Return the definitions whose names words similar to these cover best."""
        weight = np.zeros(len(self.terms), np.float32)
        only_similar = np.zeros(len(self.terms), np.float32)
        for term in dict.fromkeys(terms):
            for place, cosine in self.similar(term, source).items():
                weight[place] = max(weight[place], cosine)
                only_similar[place] = 1
        for term in terms:
            if term in self.place:
                weight[self.place[term]], only_similar[self.place[term]] = KNOWN, 0
        covered = np.asarray(self.names.T @ (weight * self.idf))
        score = covered * covered / np.maximum(self.rarity, 1e-9) * (self.names.T @ only_similar > 0)
        best = np.argsort(-score, kind="stable")[:MOST]
        return [int(number) for number in best if score[number] > 0]


_VOCABULARIES: dict[int, Vocabulary] = {}


def _generate(query: Any, source: str) -> list[int]:
    index = query.index
    if id(index) not in _VOCABULARIES:
        _VOCABULARIES.clear()
        _VOCABULARIES[id(index)] = Vocabulary(index)
    return _VOCABULARIES[id(index)].proposed(list(query.task.sequence), source)


def signal(source: str) -> Signal:
    return Signal(
        "similar",
        Stage.CHANNEL,
        "meaning",
        "similar name",
        {"channels.similar": ()},
        generate=partial(_generate, source=source),
    )


def engine_of(index: Index, source: str, weight: float, **settings: Any) -> Engine:
    channels: Any = BY_STAGE[Stage.CHANNEL]
    channels.pop("similar", None)
    if source:
        channels["similar"] = signal(source)
    chosen = {"channels": CHANNELS | ({"similar": weight} if source else {})} | settings
    return Engine(index, replace(PROFILES["default"], **chosen))


def described(corpus: Corpus, source: str) -> list[train_ranker.Task]:
    settings = {"ranker": 0.0, "overload": 1.0, "namesake": 1.0, "reorder": 0.0}
    engine = engine_of(corpus.repository.index, source, 0.01, name="candidates", **settings)
    names = (*train_ranker.NAMES, *(["similar"] if source and "similar" not in train_ranker.NAMES else []))
    tasks = []
    for task in corpus.tasks:
        candidates = engine.candidates(engine.rank(task.text))
        items = engine.index.numbered(candidates.numbers.tolist())
        chosen = [items[number] for number in candidates.numbers.tolist()]
        values = matrix(candidates, names).astype(np.float32)
        tasks.append(
            train_ranker.Task(values, Judged.of(chosen, task), tuple((item.path, item.symbol) for item in chosen))
        )
    return tasks


def learned(chosen: list[Corpus], sources: list[str]) -> None:
    train_ranker.SEEDS = (1, 2, 3)
    FEATURES["similar"] = Feature("meaning", "similar name", partial(Candidates.channel, name="similar"))  # type: ignore[index]
    before = train_ranker.left_out(chosen, {corpus.name: described(corpus, "") for corpus in chosen})
    measures = (*MEASURES, "candidates")

    def means(some: Any) -> np.ndarray:
        return np.array(
            [
                np.nanmean([[figure[name] for name in measures] for figure in some[corpus.name]], axis=0)
                for corpus in chosen
            ]
        )

    print("base, candidate recall", means(before).mean(axis=0).round(4))
    names = train_ranker.NAMES
    for source in sources:
        tasks = {corpus.name: described(corpus, source) for corpus in chosen}
        train_ranker.NAMES = (*names, "similar")
        after = train_ranker.left_out(chosen, tasks, train_ranker.NAMES)
        train_ranker.NAMES = names
        print(
            row(f"{source}, trained again", means(before), means(after)),
            means(after)[:, -1].mean().round(4),
            flush=True,
        )


def figures(corpus: Corpus, source: str, weight: float) -> list[list[float]]:
    """Return the figures of every task."""
    engine = engine_of(corpus.repository.index, source, weight)
    rows = []
    for task in corpus.tasks:
        best = engine.rank(task.text).best(10)
        items = engine.index.numbered(best)
        judged = Judged.of([items[number] for number in best], task).figures(range(len(best)))
        rows.append([judged[name] for name in MEASURES])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="folder of indexed clones")
    parser.add_argument("--models", type=Path, help="folder of rankers of framework_classes.py")
    parser.add_argument("--own", type=Path, metavar="ROOT", help="an indexed clone of this repository")
    parser.add_argument("--split", nargs="+", default=["train", "development"], choices=("train", "development"))
    parser.add_argument("--sources", nargs="+", default=SOURCES, choices=SOURCES)
    parser.add_argument("--weights", nargs="+", type=float, default=[0.01, 0.25])
    parser.add_argument("--learned", action="store_true")
    given = parser.parse_args()
    train_ranker.hurry()
    left_out: dict[str, Any] = {}
    if given.own:
        chosen = [Corpus("own fixtures", "", False, given.own, load(given.own / "eval/fixtures").queries)]
    elif given.work and given.models:
        known = [
            corpus
            for corpus in corpora(given.work, ("train", "development"))
            if (corpus.root / ".assay/current").exists()
        ]
        left_out = models(known, given.models)
        chosen = [corpus for corpus in known if corpus.split in given.split]
    else:
        parser.error("give --work and --models, or --own")
    if given.learned:
        learned(chosen, given.sources)
        return
    variants = [("", 0.0), *((source, weight) for weight in given.weights for source in given.sources)]
    results: dict[tuple[str, float], list[Any]] = {variant: [] for variant in variants}
    for corpus in chosen:
        if left_out:
            setattr(assay.rank.ranker, "shipped", constant(left_out[corpus.name]))  # noqa: B010
        for variant in variants:
            rows = figures(corpus, *variant)
            results[variant] += [np.nanmean(rows, axis=0)] if left_out else rows
        print(corpus.name, file=sys.stderr, flush=True)
    before = np.array(results["", 0.0])
    print(
        f"| {len(before)} {'repositories' if left_out else 'tasks'} | {' | '.join(MEASURES)} |\n|---|"
        + "---|" * len(MEASURES)
    )
    print(f"| base | {' | '.join(f'{value:.3f}' for value in np.nanmean(before, axis=0))} |")
    for variant in variants[1:]:
        print(row("{} {}".format(*variant), before, np.array(results[variant])))


if __name__ == "__main__":
    main()
