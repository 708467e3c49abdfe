"""Accuracy of `assay ask` on golden sets: answers, refusals and citations.

    python benchmarks/ask.py flask=eval/flask-documentation.jsonl DIR=GOLDEN …

Each DIR is an indexed folder. Prints markdown, a row for each. scripts/train_answers.py trains what decides.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core.golden import GoldenSet
from assay.evaluate import golden as golden_sets
from assay.evaluate.judging import judge, says
from assay.evaluate.matching import default_for
from assay.evaluate.metrics import aggregate, parse
from assay.evaluate.systems import open_system

K = 10  # passages that an answer is made from
MEASURES = ("Success@5", "over_refusal", "closest", "refusal_correctness", "citation_coverage", "support")
HEAD = (
    "corpus", "questions", "to refuse", "Success@5", "not refused", "closest", "refused", "citation_coverage", "support",
    "must_contain said", "words",
)  # fmt: skip


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
    success, over, closest, refused, coverage, support = aggregate(judged, map(parse, MEASURES)).values()
    answers = [
        (query, response.answer.text) for query, response in zip(queries, responses, strict=True) if response.answer
    ]
    told = [all(says(text, part) for part in query.must_contain) for query, text in answers if query.must_contain]
    words = [len(text.split()) for query, text in answers if not query.refuse]
    figures = (success, 1 - (over or 0.0), closest, refused, coverage, support, np.mean(told) if told else None)
    return [
        case.folder.name, str(len(queries)), str(sum(query.refuse for query in queries)),
        *("–" if value is None else f"{value:.2f}" for value in figures), f"{np.mean(words):.0f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="DIR=GOLDEN")
    arguments = parser.parse_args()
    pairs = [text.rpartition("=")[::2] for text in arguments.cases]
    cases = [Case(Path(folder).resolve(), golden_sets.load(Path(path))) for folder, path in pairs]
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}")
    for case in cases:
        print(f"| {' | '.join(row(case))} |", flush=True)


if __name__ == "__main__":
    main()
