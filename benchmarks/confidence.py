"""Calibration of `assay context`'s confidence on held-out repositories.

    python benchmarks/confidence.py cases.jsonl [--held-out cases.jsonl] [--svg FILE]

benchmarks/confidence_cases.py makes the cases. Those that were fitted on are judged by weights fitted on all other repositories, the others by the
weights that assay comes with. Prints markdown; `--svg` draws the reliability diagram of docs/guides/context.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "scripts")]

from calibration import BINS, Bin, Floats, Sample, auc, bins, figures, said_by  # noqa: E402
from figure import BASE, COLOURS, LEFT, RIGHT, TOP, Line, Point, picture, series  # noqa: E402
from fit_confidence import LIMITS, SHARES, confidences, sample_of  # noqa: E402

from assay.html.elements import Markup, element  # noqa: E402
from assay.html.plots import Scale, label, x_axis, y_axis  # noqa: E402
from assay.rank.confidence import shipped_threshold, weights  # noqa: E402

LEVELS = {"symbol": "definition", "generous": "definition, generously"}
HEAD = ("tasks", "right", "cases", "came", "said", "AUC", "Brier", "ECE")
ABSENT = ("foreign", "vague", "invented")  # kinds that a repository cannot answer
RESAMPLES = 10_000
FEW = 200  # cases: with fewer, five parts are drawn and not ten
TICKS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


@dataclass(frozen=True, slots=True)
class Told:
    """Cases of one kind, with what was said of each."""

    name: str
    cases: list[dict[str, Any]]
    said: Floats

    def sample(self, level: str) -> Sample:
        return sample_of(self.cases, level)

    @property
    def own(self) -> Told:
        """Without the tasks of other repositories."""
        rows = [not case["foreign"] for case in self.cases]
        return Told(f"{self.name}, own", [case for case in self.cases if not case["foreign"]], self.said[rows])

    def bins(self, parts: int) -> list[Bin]:
        sample = self.sample("symbol")
        return bins(self.said, sample.outcome, sample.weight, parts)


def told_of(name: str, path: Path, fitted_on: bool = False) -> Told:
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    sample = sample_of(cases, "symbol")
    if fitted_on:
        return Told(name, cases, confidences(cases))
    shipped = weights()
    here = said_by(np.array([shipped.base, *(shipped.signs[one] for one in LIMITS)]), sample.signs)
    return Told(name, cases, shipped.right * here)


def table(told: list[Told]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|" + "--:|" * (len(HEAD) - 2)]
    for one in told:
        for level, name in LEVELS.items():
            sample = one.sample(level)
            cells = figures(one.said, sample.outcome, sample.weight)
            shown = [f"{cells['cases']:.0f}", *(f"{cells[key]:.3f}" for key in HEAD[3:])]
            lines.append(f"| {one.name} | {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def reliability(told: Told) -> str:
    lines = [f"| {told.name}: said | came | cases |", "|--:|--:|--:|"]
    return "\n".join([*lines, *(f"| {one.said:.2f} | {one.came:.2f} | {one.cases} |" for one in told.bins(BINS))])


def sureness(told: Told) -> str:
    """Return the share of each kind of task above the threshold, with intervals over repositories."""
    kinds = np.array([case["kind"] for case in told.cases])
    repositories = np.array([case["repository"] for case in told.cases])
    sure = told.said >= shipped_threshold()
    lines = [f"| {told.name}: kind | tasks | sure | mean confidence |", "|---|--:|--:|--:|"]
    groups = {kind: kinds == kind for kind in SHARES if (kinds == kind).any()}
    groups["foreign and vague"] = np.isin(kinds, ["foreign", "vague"])
    for kind, rows in groups.items():
        means = [sure[rows & (repositories == name)].mean() for name in np.unique(repositories[rows])]
        low, high = interval(means)
        lines.append(
            f"| {kind} | {rows.sum()} | {sure[rows].mean():.1%} ({low:.1%}–{high:.1%}) | {told.said[rows].mean():.2f} |"
        )
    here, absent = kinds == "own", np.isin(kinds, ABSENT)
    both = here | absent
    found = auc(told.said[both], here[both].astype(float), np.ones(both.sum()))
    return "\n".join([*lines, "", f"AUC of own tasks against foreign, vague and invented ones: {found:.3f}"])


def interval(means: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean over repositories."""
    drawn = np.random.default_rng(0).choice(np.array(means), (RESAMPLES, len(means))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def diagram(told: list[Told]) -> Markup:
    """Draw the reliability diagram, one dot per bin."""
    x, y = Scale(0, 1, LEFT, RIGHT), Scale(0, 1, BASE, TOP)
    marks = [
        y_axis(y, TICKS, LEFT, RIGHT, "share that came true"),
        x_axis(x, TICKS, BASE, "confidence"),
        element("line", x1=x(0), y1=y(0), x2=x(1), y2=y(1), class_="even"),
    ]
    for number, (one, colour) in enumerate(zip(told, COLOURS, strict=False)):
        points = [
            Point(part.said, part.came, f"said {part.said:.0%}, came {part.came:.0%}, {part.cases} tasks")
            for part in one.bins(BINS if len(one.cases) > FEW else BINS // 2)
        ]
        marks += series(Line(one.name, points), colour, x, y)
        marks.append(label(one.name, RIGHT - 4, BASE - 46 + 16 * number, "end", f"label strong {colour}"))
    return picture("Reliability of confidence: " + ", ".join(one.name for one in told), *marks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    told = [told_of("each repository left out", given.cases, fitted_on=True)]
    told += [told_of("held out", given.held_out)] if given.held_out else []
    rows = [row for one in told for row in ((one, one.own) if len(one.own.cases) < len(one.cases) else (one,))]
    print("\n\n".join([table(rows), *map(reliability, told), *map(sureness, told)]))
    if given.svg:
        given.svg.write_text(f"{diagram(told)}\n", "utf-8")


if __name__ == "__main__":
    main()
