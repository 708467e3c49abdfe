"""Train the models of `assay ask`: which excerpts answer (excerpts.json), and whether the corpus answers at all (confidence.json).

    python scripts/train_answers.py --corpora CLONES --indexes FOLDER [--more DIR=GOLDEN ...] [--only-evaluate]

Reads the train split of eval/search; `--more` adds other golden sets (an indexed folder and its questions). Run after
scripts/train_search.py: hits come from the shipped search. Repositories are left out in turn for the figures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from train_search import DECIMALS, NATURAL_WEIGHT, ROOT, descend, folds, weighted  # puts benchmarks/ on the path

from questions import Corpus, cached, contains, corpora  # isort: skip

from assay.answer import confidence as confidences
from assay.answer import excerpts as excerpt_model
from assay.answer.answering import evidence
from assay.answer.confidence import confidence_features
from assay.answer.excerpts import Excerpt, excerpts, features
from assay.answer.question import Question
from assay.api import Repository
from assay.core.golden import GoldenQuery
from assay.evaluate.golden import load
from assay.rank.arrays import Floats
from assay.search.hits import SearchHit

TARGET = ROOT / "src/assay/answer"
MERGE = ROOT / "src/assay/search/merge.json"  # the hits depend on it
SENSES = {"log rank": -1} | dict.fromkeys(
    ("passage", "coverage with headings", "coverage", "coverage of the first unit", "coverage of headings", "pairs", "vector",
     "vector, relative"),
    1,
)  # fmt: skip
CHECKED = 3  # excerpts of an answer


@dataclass(frozen=True)
class Case:
    """A question with its hits and candidate excerpts."""

    query: GoldenQuery
    question: Question
    hits: Sequence[SearchHit]
    candidates: Sequence[Excerpt]
    values: Mapping[str, Floats]
    relevant: Floats


def case(repository: Repository, query: GoldenQuery) -> Case:
    found = evidence(repository.searcher(), query.text)
    candidates = list(excerpts(found.hits))
    values = features(found.question, candidates, found.hits, found.embedder)
    said = [bool(query.must_contain) and contains(candidate.text, query.must_contain) for candidate in candidates]
    return Case(query, found.question, found.hits, candidates, values, np.array(said, np.float64))


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
    return excerpt_model.select(case.candidates, model.scores(case)) if case.candidates else []


def fit_confidence(rows: Sequence[Mapping[str, float]], answerable: Sequence[bool]) -> tuple[float, dict[str, float]]:
    """Fit a logistic regression with a ridge on standardised features; both classes weigh the same."""
    names = list(rows[0])
    values = np.array([[row[name] for name in names] for row in rows])
    means, scales = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3)
    columns = np.hstack([(values - means) / scales, np.ones((len(values), 1))])
    truth = np.array(answerable, np.float64)
    importance = np.where(truth > 0, 0.5 / truth.mean(), 0.5 / (1 - truth.mean()))
    weights = np.zeros(columns.shape[1])
    for _ in range(4000):
        error = importance * (1 / (1 + np.exp(-columns @ weights)) - truth)
        weights -= 0.3 * (columns.T @ error / len(truth) + 0.02 * np.append(weights[:-1], 0.0))
    raw = weights[:-1] / scales
    return float(weights[-1] - means @ raw), dict(zip(names, raw.tolist(), strict=True))


def chance(model: tuple[float, Mapping[str, float]], row: Mapping[str, float]) -> float:
    odds = model[0] + sum(weight * row[name] for name, weight in model[1].items())
    return float(1 / (1 + np.exp(-odds)))


def cases_of(corpus: Corpus) -> list[Case]:
    return [case(corpus.repository, query) for query in corpus.queries("documentation")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, required=True, help="folder of clones")
    parser.add_argument("--indexes", type=Path, required=True, help="folder of indexes")
    parser.add_argument("--more", nargs="*", default=[], metavar="DIR=GOLDEN", help="further golden sets")
    parser.add_argument("--work", type=Path, help="folder that keeps hits and features")
    parser.add_argument("--only-evaluate", action="store_true", help="write nothing")
    given = parser.parse_args()
    corpora_used = corpora(given.corpora, given.indexes, "train")
    cases = {
        corpus.name: cached(given.work, corpus, "answers", partial(cases_of, corpus), [MERGE])
        for corpus in corpora_used
    }
    natural = [corpus.name for corpus in corpora_used if corpus.is_natural]
    for text in given.more:
        folder, _, golden = text.rpartition("=")
        cases[folder] = [case(Repository(Path(folder)), query) for query in load(Path(golden)).queries]
    said, held_out = dict[str, list[list[float]]](), list[tuple[str, Mapping[str, float], bool]]()
    for fold in folds(cases):
        model = fit(weighted({name: some for name, some in cases.items() if name not in fold}, natural))
        for name, each in ((left_out, each) for left_out in fold for each in cases[left_out]):
            picked = chosen(each, model)
            if picked:
                features_of = confidence_features(each.question, each.hits, picked[0])
                held_out.append((name, features_of, not each.query.refuse))
            if each.query.must_contain:
                texts = ["\n".join(e.text for e in picked[:count]) for count in range(1, CHECKED + 1)]
                hits = [float(contains(text, each.query.must_contain)) for text in texts]
                said.setdefault(name, []).append([*hits, float(each.relevant.any()), float(len(texts[-1]))])
    print("| left out | said in 1 | 2 | 3 excerpts | in any candidate | characters |\n|---|---|---|---|---|---|")
    for name, rows in sorted(said.items()):
        print(f"| {Path(name).name} | {' | '.join(f'{value:.3f}' for value in np.mean(rows, axis=0))} |")
    for label, some in (("natural", natural), ("others", [name for name in cases if name not in natural])):
        means = np.mean([np.mean(said[name], axis=0) for name in some], axis=0)
        print(f"| **{label}** | {' | '.join(f'{value:.3f}' for value in means)} |")
    report_confidence(held_out, natural)
    if not given.only_evaluate:
        write(fit(weighted(cases, natural)), fit_confidence(*repeated(held_out, natural)))


HeldOut = tuple[str, Mapping[str, float], bool]  # repository, features, whether it is to be answered


def repeated(rows: Iterable[HeldOut], natural: Collection[str]) -> tuple[list[Mapping[str, float]], list[bool]]:
    """Return features and truth of the questions, natural ones as often as they count."""
    often = [row for row in rows for _ in range(NATURAL_WEIGHT if row[0] in natural else 1)]
    return [row for _, row, _ in often], [truth for _, _, truth in often]


def report_confidence(held_out: Sequence[HeldOut], natural: Collection[str]) -> None:
    """Print how well answerable questions are told from others, each repository left out."""
    chances = np.zeros(len(held_out))
    for name in dict.fromkeys(name for name, _, _ in held_out):
        model = fit_confidence(*repeated((row for row in held_out if row[0] != name), natural))
        for place, (other, row, _) in enumerate(held_out):
            if other == name:
                chances[place] = chance(model, row)
    is_natural = np.array([name in natural for name, _, _ in held_out])
    truth = np.array([answerable for _, _, answerable in held_out])
    for label, mask in (("natural", is_natural), ("others", ~is_natural)):
        print(label)
        report_separation(chances[mask], truth[mask])


def report_separation(chances: Floats, truth: NDArray[np.bool_]) -> None:
    pairs = chances[truth][:, None] - chances[~truth][None, :]
    print(
        f"confidence: AUC {np.mean((pairs > 0) + 0.5 * (pairs == 0)):.3f}, {truth.sum()} to answer, {(~truth).sum()} to refuse"
    )
    for threshold in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6):
        print(
            f"  below {threshold}: {np.mean(chances[truth] < threshold):.3f} of those to answer, "
            f"{np.mean(chances[~truth] < threshold):.3f} of those to refuse"
        )


def write(model: Fitted, confidence: tuple[float, Mapping[str, float]]) -> None:
    rows = zip(model.names, model.means, model.weights, strict=True)
    stored = {name: [round(float(mean), DECIMALS), round(float(weight), DECIMALS)] for name, mean, weight in rows}
    (TARGET / excerpt_model.MODEL).write_text(json.dumps({"features": stored}, indent=1) + "\n", "utf-8")
    base, weights = confidence
    rounded = {name: round(weight, DECIMALS) for name, weight in weights.items()}
    text = json.dumps({"base": round(base, DECIMALS), "features": rounded}, indent=1) + "\n"
    (TARGET / confidences.MODEL).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
