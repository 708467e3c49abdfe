"""Train the models of `assay ask`: which excerpts answer (excerpts.json), and whether those printed do (confidence.json).

    python scripts/train_answers.py --corpora CLONES --indexes FOLDER [--work FOLDER] [--only NAME ...] [--only-evaluate]

Reads the train split of eval/search. Run after scripts/train_search.py: hits come from the shipped search; `--work`
keeps them until the search or the questions change. Repositories are left out in turn for the figures: both models are
fitted on the others. The threshold of answers is read off the curve that is printed last.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from train_search import DECIMALS, NATURAL_WEIGHT, ROOT, descend, folds, weighted  # puts benchmarks/ on the path

from questions import Corpus, Outcome, cached, contains, corpora, risk_coverage  # isort: skip

from assay.answer import confidence as confidences
from assay.answer import excerpts as excerpt_model
from assay.answer.answering import evidence
from assay.answer.confidence import confidence_features
from assay.answer.excerpts import Excerpt, excerpts, features
from assay.answer.question import Question
from assay.answer.reply import render_excerpts
from assay.core.golden import GoldenQuery
from assay.rank.arrays import Floats
from assay.search.embed.embedders import GENERAL, Embedder, embedder
from assay.search.hits import SearchHit

TARGET = ROOT / "src/assay/answer"
MERGE = ROOT / "src/assay/search/merge.json"  # the hits depend on it
SENSES = {"log rank": -1} | dict.fromkeys(
    ("passage", "coverage with headings", "coverage", "coverage of the first unit", "coverage of headings", "pairs", "vector",
     "vector, relative"),
    1,
)  # fmt: skip
CHECKED = 3  # excerpts of an answer
WITHOUT = ("answer", "cli", "serve", "evaluate")  # packages that do not change what is found
CONFIDENCE_RIDGE = 0.02
NEWTON_STEPS = 30
LOW_THRESHOLDS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)  # candidates of refuse_below


@dataclass(frozen=True)
class Case:
    """A question with its hits and candidate excerpts."""

    query: GoldenQuery
    question: Question
    hits: Sequence[SearchHit]
    candidates: Sequence[Excerpt]
    values: Mapping[str, Floats]
    relevant: Floats


Found = tuple[GoldenQuery, Question, Sequence[SearchHit]]


def found_for(corpus: Corpus) -> list[Found]:
    """Search for each documentation question of a repository."""
    searcher = corpus.repository.searcher()
    queries = corpus.queries("documentation")
    found = [(query, evidence(searcher, query.text)) for query in queries]
    return [(query, each.question, each.hits) for query, each in found]


def case(found: Found, general: Embedder) -> Case:
    query, question, hits = found
    candidates = list(excerpts(hits))
    values = features(question, candidates, hits, general)
    said = [bool(query.must_contain) and contains(candidate.text, query.must_contain) for candidate in candidates]
    return Case(query, question, hits, candidates, values, np.array(said, np.float64))


@dataclass(frozen=True)
class Fitted:
    """Means and weights of the raw features."""

    names: tuple[str, ...]
    means: Floats
    weights: Floats

    def scores(self, case: Case) -> Floats:
        return np.asarray((matrix(case, self.names) - self.means) @ self.weights, np.float64)


def matrix(case: Case, names: Sequence[str]) -> Floats:
    return np.array([case.values[name] for name in names], np.float64).T.reshape(len(case.candidates), len(names))


def fit(cases: Iterable[Case]) -> Fitted:
    """Fit the excerpt model: those that contain the required phrases should win."""
    usable = [case for case in cases if case.relevant.any()]
    names = tuple(usable[0].values)
    stacked = np.concatenate([matrix(case, names) for case in usable])
    means, scales = stacked.mean(axis=0), np.maximum(stacked.std(axis=0), 1e-3)
    rows = [(matrix(case, names) - means) / scales for case in usable]
    senses = [SENSES.get(name, 0) for name in names]
    weights = descend(rows, [case.relevant / case.relevant.sum() for case in usable], senses)
    return Fitted(names, means, weights / scales)


def chosen(case: Case, model: Fitted) -> list[Excerpt]:
    return excerpt_model.select(case.candidates, model.scores(case), case.values["vector"]) if case.candidates else []


@dataclass(frozen=True)
class Printed:
    """The features of what is printed for a question, and whether it says what it must."""

    repository: str
    query: GoldenQuery
    features: Mapping[str, float]
    right: bool


@dataclass(frozen=True)
class Logistic:
    """Means and weights of the raw features; `base` is the log odds at the means."""

    names: tuple[str, ...]
    means: Floats
    weights: Floats
    base: float

    def chance(self, values: Mapping[str, float]) -> float:
        row = np.array([values[name] for name in self.names])
        return float(1 / (1 + np.exp(-self.base - (row - self.means) @ self.weights)))


def fit_confidence(rows: Sequence[Printed]) -> Logistic:
    """Fit a logistic regression with a ridge on standardised features, by Newton's method."""
    names = tuple(rows[0].features)
    values = np.array([[row.features[name] for name in names] for row in rows])
    truth = np.array([row.right for row in rows], np.float64)
    means, scales = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3)
    columns = np.hstack([(values - means) / scales, np.ones((len(values), 1))])
    ridge = np.append(np.full(len(names), CONFIDENCE_RIDGE * len(values)), 0.0)
    weights = np.zeros(columns.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-columns @ weights))
        curvature = (columns * (chances * (1 - chances))[:, None]).T @ columns + np.diag(ridge)
        weights -= np.linalg.solve(curvature, columns.T @ (chances - truth) + ridge * weights)
    return Logistic(names, means, weights[:-1] / scales, float(weights[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True, help="folder of clones")
    parser.add_argument("--indexes", type=Path, required=True, help="folder of indexes")
    parser.add_argument("--work", type=Path, help="folder that keeps what was found")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="some repositories")
    parser.add_argument("--only-evaluate", action="store_true", help="write nothing")
    given = parser.parse_args()
    used = [
        corpus
        for corpus in corpora(given.corpora, given.indexes, "train")
        if not given.only or corpus.name in given.only
    ]
    found = {
        corpus.name: cached(given.work, corpus, "found", partial(found_for, corpus), [MERGE], WITHOUT)
        for corpus in used
    }
    general = embedder(GENERAL)
    assert general is not None
    cases = {name: [case(each, general) for each in some] for name, some in found.items()}
    natural = [corpus.name for corpus in used if corpus.is_natural]
    printed = list[Printed]()
    said = dict[str, list[list[float]]]()
    for fold in folds(cases):
        model = fit(weighted({name: some for name, some in cases.items() if name not in fold}, natural))
        for name, each in ((left_out, each) for left_out in fold for each in cases[left_out]):
            picked = chosen(each, model)
            must = each.query.must_contain
            if picked and each.question.words:
                values = confidence_features(each.question, each.hits, picked, general)
                right = bool(must) and contains(render_excerpts(picked)[0], must)
                printed.append(Printed(name, each.query, {"hit vector": 0.0, **values}, right))
            if must:
                texts = [render_excerpts(picked[:count])[0] for count in range(1, CHECKED + 1)]
                hits = [float(contains(text, must)) for text in texts]
                said.setdefault(name, []).append([*hits, float(each.relevant.any()), float(len(texts[-1]))])
    print("| left out | said in 1 | 2 | 3 excerpts | in any candidate | characters |\n|---|---|---|---|---|---|")
    for name, rows in sorted(said.items()):
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in np.mean(rows, axis=0))} |")
    for label, some in (("natural", natural), ("others", [name for name in cases if name not in natural])):
        means = np.mean([np.mean(said[name], axis=0) for name in some], axis=0)
        print(f"| **{label}** | {' | '.join(f'{value:.3f}' for value in means)} |")
    report_confidence(printed, natural)
    if not given.only_evaluate:
        write(fit(weighted(cases, natural)), fit_confidence(repeated(printed, natural)))


def repeated(rows: Iterable[Printed], natural: Collection[str]) -> list[Printed]:
    """Return the rows, those of natural questions as often as they count."""
    return [row for row in rows for _ in range(NATURAL_WEIGHT if row.repository in natural else 1)]


def report_confidence(rows: Sequence[Printed], natural: Collection[str]) -> None:
    """Print how well right replies are told from wrong ones, repositories left out of both models in folds."""
    chances = dict[str, float]()
    for fold in folds({row.repository for row in rows}):
        model = fit_confidence(repeated((row for row in rows if row.repository not in fold), natural))
        chances |= {row.query.id: model.chance(row.features) for row in rows if row.repository in fold}
    for label, is_natural in (("natural", True), ("others", False)):
        some = [row for row in rows if (row.repository in natural) == is_natural]
        right = np.array([row.right for row in some])
        values = np.array([chances[row.query.id] for row in some])
        pairs = values[right][:, None] - values[~right][None, :]
        error = abs(values.mean() - right.mean())
        print(f"\n{label}: AUC {np.mean((pairs > 0) + 0.5 * (pairs == 0)):.3f}, mean off by {error:.3f}\n")
        outcomes = [Outcome(row.query, chances[row.query.id], row.right) for row in some]
        print("\n".join(risk_coverage(outcomes)))
        print("\n| below | right | to answer | near misses | foreign |\n|---|---|---|---|---|")
        for threshold in LOW_THRESHOLDS:
            kinds = ("to answer", "near miss", "foreign")
            groups = [[o for o in outcomes if o.right], *([o for o in outcomes if o.kind == kind] for kind in kinds)]
            shares = [np.mean([each.confidence < threshold for each in group]) for group in groups]
            print(f"| {threshold:.2f} | {' | '.join(f'{share:.3f}' for share in shares)} |")


def write(model: Fitted, confidence: Logistic) -> None:
    for target, fitted, extra in (
        (excerpt_model.MODEL, model, {}),
        (confidences.MODEL, confidence, {"base": round(confidence.base, DECIMALS)}),
    ):
        rows = zip(fitted.names, fitted.means, fitted.weights, strict=True)
        stored = {name: [round(float(mean), DECIMALS), round(float(weight), DECIMALS)] for name, mean, weight in rows}
        (TARGET / target).write_text(json.dumps({**extra, "features": stored}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
