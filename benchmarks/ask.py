"""Accuracy of `assay ask` on golden sets: answers, refusals and citations.

    python benchmarks/ask.py flask=eval/flask-documentation.jsonl DIR=GOLDEN … [--fit]

Each DIR is an indexed folder. Prints markdown, a row for each. `--fit` fits the weights of confidence (answer/confidence.py) on all sets but one,
says what they would answer and refuse of the one left out, and then those of all sets together. Every set counts the same, and in it what is to
be answered and what is to be refused.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from assay.answer.extractive import BASE, MATCH, UNSEEN, analyze_question, confidence_features
from numpy.typing import NDArray

import assay
from assay.config.configuration import AskSettings
from assay.core.golden import GoldenSet
from assay.evaluate import golden as golden_sets
from assay.evaluate.judging import judge
from assay.evaluate.matching import default_for
from assay.evaluate.metrics import aggregate, parse
from assay.evaluate.systems import open_system

Floats = NDArray[np.float64]

K = 10  # passages that an answer is made from
MEASURES = ("Success@5", "over_refusal", "refusal_correctness", "citation_coverage", "support")
HEAD = (
    "corpus", "questions", "to refuse", "Success@5", "answered", "refused", "balanced", "citation_coverage", "support",
    "must_contain said", "words",
)  # fmt: skip
RIDGE = 0.05  # of standardised signs: with less, the corpora left out came out worse
STEPS = 100  # of Newton's method, which needs about ten


@dataclass(frozen=True)
class Case:
    """A corpus and what is asked about it."""

    folder: Path
    golden: GoldenSet


def row(case: Case) -> list[str]:
    """The figures of one corpus."""
    queries = case.golden.queries
    system = open_system("ask", root=case.folder)
    try:
        responses = [system.answer(query.text, K, None, "", query.id) for query in queries]
    finally:
        system.close()
    matcher = default_for(case.golden)
    judged = judge(queries, responses, matcher, matcher.level_for(case.golden))
    success, over, refused, coverage, support = aggregate(judged, map(parse, MEASURES)).values()
    answers = [
        (query, response.answer.text) for query, response in zip(queries, responses, strict=True) if response.answer
    ]
    told = [all(part in text for part in query.must_contain) for query, text in answers if query.must_contain]
    words = [len(text.split()) for query, text in answers if not query.refuse]
    balanced = (1 - (over or 0.0) + (refused or 0.0)) / 2
    figures = (success, 1 - (over or 0.0), refused, balanced, coverage, support, np.mean(told) if told else None)
    return [
        case.folder.name, str(len(queries)), str(sum(query.refuse for query in queries)),
        *("–" if value is None else f"{value:.2f}" for value in figures), f"{np.mean(words):.0f}",
    ]  # fmt: skip


def features(case: Case) -> tuple[Floats, Floats]:
    """The signs of every question, and whether it is to be answered."""
    rows = []
    with assay.open(case.folder) as repo:
        search = repo.searcher().search
        for query in case.golden.queries:
            seen = confidence_features(analyze_question(query.text, search), repo.search(query.text, K, plain=True))
            rows.append((1.0, seen.unseen, seen.match, float(not query.refuse)))
    table = np.array(rows)
    return table[:, :3], table[:, 3]


def fit(sets: list[tuple[Floats, Floats]]) -> Floats:
    """Weights of the signs by logistic regression (Newton's method)."""
    signs_of, answer = np.concatenate([s for s, _ in sets]), np.concatenate([a for _, a in sets])
    shares = np.concatenate([np.where(a == 1, 0.5 / max(1, a.sum()), 0.5 / max(1, (1 - a).sum())) for _, a in sets])
    middle, spread = signs_of.mean(axis=0), signs_of.std(axis=0)
    middle[0], spread[0] = 0.0, 1.0  # the constant
    standard = (signs_of - middle) / spread
    weights = np.zeros(len(spread))
    ridge = RIDGE * len(sets) * np.diag([0.0, 1.0, 1.0])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-standard @ weights))
        slope = standard.T @ (shares * (answer - chance)) - ridge @ weights
        bend = (standard * (shares * chance * (1 - chance))[:, None]).T @ standard + ridge
        weights = weights + np.linalg.solve(bend, slope)
    raw = weights / spread
    raw[0] -= (raw * middle).sum()
    return np.asarray(raw)


def shares(weights: Floats, signs_of: Floats, answer: Floats) -> str:
    """Return the share of answerable queries that are answered and of the others that are refused."""
    sure = 1 / (1 + np.exp(-signs_of @ weights)) >= AskSettings().threshold
    return f"{sure[answer == 1].mean():.2f} | {(~sure)[answer == 0].mean():.2f}"


def print_fit(cases: list[Case]) -> None:
    sets = [features(case) for case in cases]
    print("\n| left out | base | unseen | match | answered | refused |\n|---|--:|--:|--:|--:|--:|")
    for at, case in enumerate(cases):
        weights = fit(sets[:at] + sets[at + 1 :])
        print(f"| {case.folder.name} | {' | '.join(f'{one:.2f}' for one in weights)} | {shares(weights, *sets[at])} |")
    whole = (np.concatenate([s for s, _ in sets]), np.concatenate([a for _, a in sets]))
    for name, weights in (("none", fit(sets)), ("as built in", np.array([BASE, UNSEEN, MATCH]))):
        print(f"| {name} | {' | '.join(f'{one:.2f}' for one in weights)} | {shares(weights, *whole)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="DIR=GOLDEN")
    parser.add_argument("--fit", action="store_true", help="fit the weights of confidence, each set left out in turn")
    arguments = parser.parse_args()
    pairs = [text.rpartition("=")[::2] for text in arguments.cases]
    cases = [Case(Path(folder).resolve(), golden_sets.load(Path(path))) for folder, path in pairs]
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}")
    for case in cases:
        print(f"| {' | '.join(row(case))} |", flush=True)
    if arguments.fit:
        print_fit(cases)


if __name__ == "__main__":
    main()
