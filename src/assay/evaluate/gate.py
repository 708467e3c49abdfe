"""The gate: pass or fail a run by absolute floors and two regression guards against a baseline.

    floor      a metric is below its required minimum
    loss       a metric fell by more than the tolerance, significantly (randomisation test, Holm over guarded metrics)
    break      queries answered at the top (rank 1 to 3) in the baseline and not answered any more:
               more than allowed, or one of them tagged `critical`

Runs are recorded independently of the rules, so any stored run can be gated again. `advise` recommends a refusal
threshold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np

from assay.errors import AssayError
from assay.evaluate.compare import KINDS, Comparison, finite
from assay.evaluate.metrics.measures import parse
from assay.evaluate.scores import Scores
from assay.text.display import counted

CRITICAL = "critical"  # tag of queries that may never break
_TOP = 3  # a query is answered at the top when its first relevant result ranks this high


@dataclass(frozen=True, slots=True)
class Rules:
    """Gate requirements. Floors by measure; for lower-is-better measures they are ceilings."""

    floors: Mapping[str, float] = field(default_factory=dict)
    guarded: Sequence[str] = ()
    tolerance: float = 0.02
    alpha: float = 0.05
    breaks_allowed: int | None = None  # None: one, and one more for every 50 queries


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of a single check."""

    name: str
    passed: bool
    message: str


def parse_floors(texts: Sequence[str]) -> dict[str, float]:
    """Parse `RR@10=0.7` → {RR@10: 0.7}."""
    floors = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"\s*\d*\.?\d+(e-?\d+)?\s*", value):
            raise AssayError(f"--min '{text}': write a measure and a number, like RR@10=0.7")
        floors[str(parse(name.strip()))] = float(value)
    return floors


def gate(
    scores: Scores, rules: Rules, comparison: Comparison | None = None, critical: frozenset[str] = frozenset()
) -> list[Check]:
    """Run every check, in order. `comparison` goes from the baseline to this run."""
    checks = [_check_complete(scores)]
    checks += [_check_floor(scores, name, minimum) for name, minimum in rules.floors.items()]
    if comparison is not None:
        checks += [_check_loss(comparison, name, rules) for name in rules.guarded]
        checks.append(_check_breaks(comparison, rules, critical))
    return checks


def _check_complete(scores: Scores) -> Check:
    failed = int(np.nansum(scores.values.get("failure_rate", np.zeros(1))))
    note = f"; the system failed on {failed}, which score 0" if failed else ""
    return Check(
        "run is complete", scores.status == "complete", f"{len(scores.queries)} queries, {scores.status}{note}"
    )


def _check_floor(scores: Scores, name: str, minimum: float) -> Check:
    value = scores.means.get(name)
    if value is None:
        return Check(f"{name} floor", False, f"{name} could not be measured on this run")
    higher = parse(name).higher_is_better
    passed = value >= minimum - 1e-12 if higher else value <= minimum + 1e-12
    return Check(
        f"{name} floor", passed, f"{name} is {value:.4f}; required: {'at least' if higher else 'at most'} {minimum:g}"
    )


def _check_loss(comparison: Comparison, name: str, rules: Rules) -> Check:
    if name not in comparison.statistics:
        return Check(f"{name} against the baseline", False, f"{name} could not be measured in both runs")
    pair, adjusted = comparison.statistics[name], comparison.adjusted[name]
    loss = -pair.delta if parse(name).higher_is_better else pair.delta
    failed = loss > rules.tolerance and adjusted < rules.alpha
    message = f"{name} {pair.mean_a:.4f} → {pair.mean_b:.4f} ({pair.delta:+.4f}, p = {adjusted:.3f} after Holm)"
    if failed:
        message += f": significant loss above the tolerance ({rules.tolerance:g})"
    elif loss > rules.tolerance:
        detectable = finite(pair.detectable)
        message += ": lower, but not significantly" + (f"; this set detects {detectable:g}" if detectable else "")
    return Check(f"{name} against the baseline", not failed, message)


def _check_breaks(comparison: Comparison, rules: Rules, critical: frozenset[str]) -> Check:
    regression = KINDS.index("Regression")
    broken = np.flatnonzero((comparison.kinds == regression) & (comparison.a_rank <= _TOP)).tolist()
    names = [comparison.queries[number] for number in broken]
    fatal = [name for name in names if name in critical]
    allowed = 1 + len(comparison.queries) // 50 if rules.breaks_allowed is None else rules.breaks_allowed
    passed = len(names) <= allowed and not fatal
    message = f"{len(names)} queries answered in the top {_TOP} before are not answered now; {allowed} allowed"
    if names:
        message += f": {', '.join(names[:10])}" + (" …" if len(names) > 10 else "")
    if fatal:
        message += f"; tagged {CRITICAL}: {', '.join(fatal[:10])}"
    return Check("no query breaks", passed, message)


# output formats


def as_json(scores: Scores, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "run_id": scores.run_id,
        "passed": all(check.passed for check in checks),
        "checks": [{"name": c.name, "passed": c.passed, "message": c.message} for c in checks],
    }


def junit(scores: Scores, checks: Sequence[Check]) -> str:
    """Render JUnit XML, one test case per check."""
    failures = sum(not check.passed for check in checks)
    suite = ElementTree.Element(
        "testsuite", name="assay eval gate", tests=str(len(checks)), failures=str(failures), errors="0"
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml_safe(f"gate.{scores.system}"), name=_xml_safe(check.name)
        )
        if not check.passed:
            ElementTree.SubElement(case, "failure", message=_xml_safe(check.message)).text = _xml_safe(check.message)
    return str(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True), "utf-8") + "\n"


def github_annotations(checks: Sequence[Check]) -> list[str]:
    """Return GitHub workflow commands that annotate the pull request with each failure."""
    return [
        f"::error title={_escape_annotation(c.name, True)}::{_escape_annotation(c.message)}"
        for c in checks
        if not c.passed
    ]


def markdown(scores: Scores, checks: Sequence[Check], advice: str = "") -> str:
    """Render the outcome as a table for a step summary, with the advice below."""
    verdict = "passed" if all(check.passed for check in checks) else "failed"
    rows = [f"| {'✅' if c.passed else '❌'} | {_cell(c.name)} | {_cell(c.message)} |" for c in checks]
    return "\n".join(
        [
            f"## assay gate {verdict}: run {scores.run_id}",
            "",
            "| | check | |",
            "|---|---|---|",
            *rows,
            "",
            *([advice, ""] if advice else []),
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _xml_safe(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def _escape_annotation(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


# refusal threshold: answered and refused shares of a golden set per threshold, and the best one

MIN_QUESTIONS = 8  # questions of either kind; with fewer, one question moves the figure more than any threshold
_EXPECTED_BEHAVIOURS = ((False, "answer"), (True, "refuse"))
_STEPS = 20  # thresholds on the curve
_Z_95 = 1.96  # normal quantile of a two-sided 95 % interval


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A system's confidence on a question, and the expected behaviour."""

    confidence: float
    refuse: bool


@dataclass(frozen=True, slots=True)
class Point:
    """Effect of a threshold: share of answerable questions answered, share of the others refused, balanced accuracy.

    Balanced accuracy is the mean of the two shares; `low` and `high` are its 95 % interval.
    """

    threshold: float
    answered: float
    refused: float
    balanced: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommended threshold; `change`: it is significantly better than the one in use; `why`: the reason."""

    point: Point
    used: Point
    change: bool
    why: str


def evaluate_threshold(threshold: float, judged: Sequence[JudgedQuestion]) -> Point:
    """Evaluate a threshold, with the Agresti–Caffo interval, which holds for small sets and shares of 0 and 1."""
    answered_flags = [question.confidence >= threshold for question in judged if not question.refuse]
    refused_flags = [question.confidence < threshold for question in judged if question.refuse]
    answered, refused = _share(answered_flags), _share(refused_flags)
    adjusted = [((sum(flags) + 1) / (len(flags) + 2), len(flags) + 2) for flags in (answered_flags, refused_flags)]
    middle = sum(share for share, _ in adjusted) / 2
    spread = _Z_95 * math.sqrt(sum(share * (1 - share) / size for share, size in adjusted)) / 2
    balanced = (answered + refused) / 2
    return Point(
        threshold, answered, refused, balanced,
        max(0.0, min(middle - spread, balanced)), min(1.0, max(middle + spread, balanced)),
    )  # fmt: skip


def threshold_curve(judged: Sequence[JudgedQuestion]) -> list[Point]:
    """Evaluate thresholds from 0 to 1 in even steps."""
    return [evaluate_threshold(step / _STEPS, judged) for step in range(_STEPS + 1)]


def advise(judged: Sequence[JudgedQuestion], used: float) -> Advice:
    """Return the best threshold, in the middle of its equivalent range.

    Keep the one in use unless another is significantly better.
    """
    current = evaluate_threshold(used, judged)
    fewest, behaviour = min(
        (sum(question.refuse == refuse for question in judged), name) for refuse, name in _EXPECTED_BEHAVIOURS
    )
    if fewest < MIN_QUESTIONS:
        why = f"the set has only {counted(fewest, 'question')} to {behaviour}; at least {MIN_QUESTIONS} are needed"
        return Advice(current, current, False, why)
    points = [evaluate_threshold(threshold, judged) for threshold in _candidate_thresholds(judged)]
    best = max(points, key=lambda point: (point.balanced, -abs(point.threshold - used)))
    if best.balanced <= current.balanced:
        return Advice(current, current, False, "no threshold does better on this set")
    if current.balanced >= best.low:
        return Advice(best, current, False, "better on this set, but not significantly; add questions to the set")
    return Advice(best, current, True, "significantly better on this set")


def _candidate_thresholds(judged: Sequence[JudgedQuestion]) -> list[float]:
    """Return a threshold between each two neighbouring confidences, rounded to two decimals where possible."""
    confidences = sorted({0.0, *(question.confidence for question in judged), 1.0})
    thresholds = []
    for low, high in pairwise(confidences):
        middle = (low + high) / 2
        thresholds.append(round(middle, 2) if low < round(middle, 2) <= high else middle)
    return thresholds


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan
