"""Train the model that merges code and documents in `assay search` (src/assay/search/merge.json).

    python scripts/train_search.py --corpora CLONES --indexes FOLDER [--work FOLDER] [--only-evaluate]

Reads the train split of eval/search only. A listwise (softmax) linear model: the candidates of a query compete, and the
relevant ones, weighted by grade, should win. Repositories are left out in seven folds for the figures; the shipped model
is fitted on all of them. Deterministic: numpy only, full-batch gradient descent from zero. `--work` keeps the candidates
and features of each repository until the code of assay or the questions change.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]

from questions import Corpus, cached, contains, corpora, file_ndcg  # noqa: E402

from assay.core.golden import GoldenQuery  # noqa: E402
from assay.rank.arrays import Floats  # noqa: E402
from assay.search import merge  # noqa: E402
from assay.search.filters import Filters  # noqa: E402
from assay.search.hits import Scored  # noqa: E402
from assay.search.intent import intent  # noqa: E402
from assay.search.windows import joined_text, window  # noqa: E402

TARGET = ROOT / "src/assay/search" / merge.MODEL
DEPTH = 50  # passages
RIDGE = 0.01
# Of passages. The questions avoid the words of the documents more than people do; Cranfield's do not.
FLOORS = {"reranker": 5.0}
NATURAL_WEIGHT = 2  # natural questions are what people type; the others avoid the words of their answers on purpose
FREE = {"list of changes", "test", "readme", "news", "manual", "path", "heading"}  # navigation queries weigh them too
STEPS, RATE = 400, 0.03  # of Adam
DECIMALS = 6
FOLDS = 7
SENSES = dict.fromkeys(
    ("reranker", "blend", "lexical", "reciprocal rank", "heading", "coverage", "path", "innermost heading, precision",
     "similar words", "similar words, together", "similar words, headings", "similar words, path", "general vector",
     "general vector, relative", "engine", "file text", "file vector", "file vector, relative", "file vector, nearest"),
    1,
) | dict.fromkeys(("list of changes", "news", "test", "support"), -1)  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """The candidates of one query: features by group, path, and gain of each candidate (passages, then code)."""

    query: GoldenQuery
    values: Mapping[str, Mapping[str, Floats]]
    sizes: Mapping[str, int]
    paths: Sequence[str]
    texts: Sequence[str]  # of passages, as hits show them
    gains: NDArray[np.float64]


def case(corpus: Corpus, query: GoldenQuery) -> Case:
    """Collect the candidates of a query with their features, as `Search.candidates` does."""
    search = corpus.repository.searcher()
    first = len(search.passages)
    allowed, similar = search.allowed(query.text, Filters()), search.similar_words(query.text)
    code = search.code_ranker.candidates(query.text, allowed[first:], similar)
    passages, values = search.passage_candidates(query.text, DEPTH, allowed[:first], similar)
    wording = {f"query {name}": np.array(value) for name, value in intent(query.text).items()}
    sizes = {merge.PASSAGE: len(passages), merge.CODE: len(code.numbers)}
    found = [search.passages[passage.number] for passage in passages]
    files = {row.number: path for path, row in search.index.files.items()}
    paths = [passage.path for passage in found]
    paths += [files[int(search.index.columns.file[number])] for number in code.numbers]
    shown = [joined_text(window(passage.number, search.passages, search.passage_size)) for passage in found]
    relevant = gains(query, paths, [passage.text for passage in found])
    columns = {merge.PASSAGE: {**values, **wording}, merge.CODE: {**code.features, **wording}}
    return Case(query, columns, sizes, paths, shown, relevant)


def gains(query: GoldenQuery, paths: Sequence[str], texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the gain of each candidate: the grade of its file, or 2 for a passage with the required phrases."""
    grades = {expected.name: float(expected.grade or 1) for expected in query.at("file")}
    if query.must_contain:  # a documentation question
        relevant = [
            path in grades and contains(text, query.must_contain) for path, text in zip(paths, texts, strict=False)
        ]
        return np.array([2.0 * value for value in relevant] + [0.0] * (len(paths) - len(texts)))
    return np.array([grades.get(path, 0.0) for path in paths])


@dataclass(frozen=True)
class Fitted:
    """Feature names, means, scales and weights by group; an intercept distinguishes the groups."""

    names: Mapping[str, tuple[str, ...]]
    means: Mapping[str, Floats]
    weights: Mapping[str, Floats]  # of raw features
    base: Mapping[str, float]

    def scores(self, case: Case) -> Floats:
        parts = []
        for group in (merge.PASSAGE, merge.CODE):
            values = matrix(case, group, self.names[group])
            parts.append((values - self.means[group]) @ self.weights[group] + self.base[group])
        return np.concatenate(parts)


def matrix(case: Case, group: str, names: Sequence[str]) -> Floats:
    size = case.sizes[group]
    return np.array([np.broadcast_to(case.values[group][name], size) for name in names]).T.reshape(size, len(names))


def fit(cases: Sequence[Case]) -> Fitted:
    """Fit the weights of passages among passages, by documentation questions, and then both groups together.

    Navigation queries say nothing of which passage answers a question: their relevant files are code.
    """
    names = {group: tuple(cases[0].values[group]) for group in (merge.PASSAGE, merge.CODE)}
    stacked = {group: np.concatenate([matrix(case, group, names[group]) for case in cases]) for group in names}
    means = {group: values.mean(axis=0) for group, values in stacked.items()}
    scales = {group: np.maximum(values.std(axis=0), 1e-3) for group, values in stacked.items()}

    def standard(case: Case, group: str) -> Floats:
        return np.asarray((matrix(case, group, names[group]) - means[group]) / scales[group], np.float64)

    own = np.array([not name.startswith("query ") for name in names[merge.PASSAGE]])
    among = np.where(own, fit_passages(cases, names[merge.PASSAGE], own, scales[merge.PASSAGE], standard), 0.0)
    free = ~own | np.array([name in FREE for name in names[merge.PASSAGE]])
    rows, targets = [], []
    for case in cases:
        chosen = first_of_each_file(case)
        if case.gains[chosen].any():
            passages, code = standard(case, merge.PASSAGE), standard(case, merge.CODE)
            left = np.hstack([passages @ among[:, None], passages[:, free], np.ones((len(passages), 1))])
            block = np.zeros((len(passages) + len(code), left.shape[1] + code.shape[1]))
            block[: len(passages), : left.shape[1]] = left
            block[len(passages) :, left.shape[1] :] = code
            rows.append(block[chosen])
            targets.append(case.gains[chosen] / case.gains[chosen].sum())
    senses = {group: [SENSES.get(name, 0) for name in names[group]] for group in names}
    of_free = np.array(senses[merge.PASSAGE])[free].tolist()
    weights = descend(rows, targets, [1, *of_free, 0, *senses[merge.CODE]])
    size = int(free.sum())
    of_passages = weights[0] * among
    of_passages[free] += weights[1 : 1 + size]
    raw = {
        merge.PASSAGE: of_passages / scales[merge.PASSAGE],
        merge.CODE: weights[size + 2 :] / scales[merge.CODE],
    }
    return Fitted(names, means, raw, {merge.PASSAGE: float(weights[size + 1]), merge.CODE: 0.0})


def fit_passages(
    cases: Sequence[Case],
    names: Sequence[str],
    own: NDArray[np.bool_],
    scales: Floats,
    standard: Callable[[Case, str], Floats],
) -> Floats:
    """Fit the weights of passages among passages; features that are not their `own` get none."""
    rows, targets = [], []
    for case in cases:
        gains = case.gains[: case.sizes[merge.PASSAGE]]
        if case.query.must_contain and gains.any():
            rows.append(standard(case, merge.PASSAGE) * own)
            targets.append(gains / gains.sum())
    floors = np.array([FLOORS.get(name, 0.0) for name in names]) * scales
    return descend(rows, targets, [SENSES.get(name, 0) for name in names], floors)


def weighted(cases: Mapping[str, Sequence[T]], natural: Collection[str]) -> list[T]:
    """Return the cases of all repositories, those of natural questions as often as they count."""
    return [
        case for name, some in cases.items() for case in some for _ in range(NATURAL_WEIGHT if name in natural else 1)
    ]


def first_of_each_file(case: Case) -> NDArray[np.intp]:
    """Return all passages and the best definition of each file: its others are neither right nor wrong."""
    passages = case.sizes[merge.PASSAGE]
    first = {path: place for place, path in reversed(list(enumerate(case.paths[passages:], passages)))}
    return np.array([*range(passages), *sorted(first.values())])


def descend(
    rows: Sequence[Floats], targets: Sequence[Floats], senses: Sequence[int], least: Floats | float = 0.0
) -> Floats:
    """Minimise the cross entropy between targets and softmax scores, with a ridge, by Adam.

    `senses` has the sign that each weight must have, 0 for either, and `least` the floor of positive ones: evidence of
    a match never counts against it. The questions avoid the words of the documents, so that free weights would punish
    the words themselves.
    """
    size = len(senses)
    low = np.where(np.array(senses) > 0, least, -np.inf)
    high = np.where(np.array(senses) < 0, 0.0, np.inf)
    values, wanted = np.concatenate(rows).astype(np.float32), np.concatenate(targets)
    sizes = [len(block) for block in rows]
    starts = np.cumsum([0, *sizes[:-1]])
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for _ in range(STEPS):
        scores = values @ weights.astype(np.float32)
        chances = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        chances /= np.repeat(np.add.reduceat(chances, starts), sizes)
        gradient = (chances - wanted).astype(np.float32) @ values / len(rows) + RIDGE * weights
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights = np.clip(weights - RATE * mean / (np.sqrt(square) + 1e-8), low, high)
    return weights


def folds(names: Iterable[str]) -> list[list[str]]:
    """Divide the repositories into seven folds, in the order of their names."""
    ordered = sorted(names)
    return [ordered[start::FOLDS] for start in range(min(FOLDS, len(ordered)))]


def calibrate(scores: Sequence[Floats], relevant: Sequence[NDArray[np.bool_]]) -> tuple[float, float]:
    """Fit slope and offset of the probability that one of the ten best candidates is relevant (logistic regression)."""
    tops = [np.argsort(-values, kind="stable")[:10] for values in scores]
    x = np.concatenate([values[top] for values, top in zip(scores, tops, strict=True)])
    y = np.concatenate([truth[top] for truth, top in zip(relevant, tops, strict=True)]).astype(np.float64)
    columns = np.stack([x, np.ones_like(x)], axis=1)
    weights = np.zeros(2)
    for _ in range(2000):  # gradient descent: two weights, a smooth convex loss
        weights -= 0.5 * columns.T @ (1 / (1 + np.exp(-columns @ weights)) - y) / len(y)
    return float(weights[0]), float(weights[1])


def figures(cases: Sequence[Case], scores: Sequence[Floats]) -> dict[str, list[float]]:
    """Return nDCG@10 of files for navigation, and success for documentation, a value per query, as `search` lists them."""
    out: dict[str, list[float]] = {"navigation nDCG": [], "file S@5": [], "passage S@1": [], "passage S@5": []}
    for case, values in zip(cases, scores, strict=True):
        if case.query.refuse:
            continue
        chances = merge.shipped().probability(values).tolist()
        ranking = [Scored(int(place), chances[place], 0.0) for place in np.argsort(-values, kind="stable")]
        spread = merge.spread(ranking, dict(enumerate(case.paths)), passages=case.sizes[merge.PASSAGE])
        if not case.query.must_contain:
            out["navigation nDCG"].append(file_ndcg([case.paths[one.number] for one in spread], case.query))
            continue
        top = [one.number for one in spread[:5]]
        files = {expected.name for expected in case.query.at("file")}
        said = [place < len(case.texts) and contains(case.texts[place], case.query.must_contain) for place in top]
        out["file S@5"].append(float(any(case.paths[place] in files for place in top)))
        out["passage S@1"].append(float(any(said[:1])))
        out["passage S@5"].append(float(any(said)))
    return out


def cases_of(corpus: Corpus) -> list[Case]:
    """Return the cases of a repository: all that have something to find."""
    return [
        case(corpus, query)
        for kind in ("navigation", "documentation")
        for query in corpus.queries(kind)
        if not query.refuse
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True, help="folder of clones")
    parser.add_argument("--indexes", type=Path, required=True, help="folder of indexes")
    parser.add_argument("--work", type=Path, help="folder that keeps candidates and features")
    parser.add_argument("--only-evaluate", action="store_true", help="write nothing")
    given = parser.parse_args()
    chosen = corpora(given.corpora, given.indexes, "train")
    cases = {corpus.name: cached(given.work, corpus, "search", partial(cases_of, corpus)) for corpus in chosen}
    natural = [corpus.name for corpus in chosen if corpus.is_natural]
    scores, means = dict[str, list[Floats]](), dict[str, list[float]]()
    for fold in folds(cases):
        model = fit(weighted({name: some for name, some in cases.items() if name not in fold}, natural))
        for name in fold:
            scores[name] = [model.scores(each) for each in cases[name]]
            means[name] = [float(np.mean(values)) for values in figures(cases[name], scores[name]).values()]
    scores = {name: scores[name] for name in cases}
    print("| left out | navigation nDCG | file S@5 | passage S@1 | passage S@5 |\n|---|---|---|---|---|")
    for name in cases:
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in means[name])} |")
    for label, some in (("natural", natural), ("others", [name for name in cases if name not in natural])):
        print(f"| **{label}** | {' | '.join(f'{value:.3f}' for value in np.mean([means[n] for n in some], axis=0))} |")
    every = [each for some in cases.values() for each in some]
    slope, offset = calibrate(
        [values for some in scores.values() for values in some], [each.gains > 0 for each in every]
    )
    print(f"calibration: slope {slope:.3f}, offset {offset:.3f}")
    model = fit(weighted(cases, natural))
    stored = {"format": merge.FORMAT, "slope": round(slope, DECIMALS), "offset": round(offset, DECIMALS)} | {
        group: {
            "base": round(model.base[group], DECIMALS),
            "features": {
                name: [round(float(mean), DECIMALS), round(float(weight), DECIMALS)]
                for name, mean, weight in zip(model.names[group], model.means[group], model.weights[group], strict=True)
            },
        }
        for group in model.names
    }
    if not given.only_evaluate:
        TARGET.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
        print(f"written: {TARGET.name}")


if __name__ == "__main__":
    main()
