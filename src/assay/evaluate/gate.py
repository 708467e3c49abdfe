"""The gate: may this run go out? Absolute floors, and two guards against a baseline.

    floor      a metric is below the least it must have
    loss       a metric fell by more than the tolerance, and that is no chance (randomisation test, Holm over the metrics guarded)
    break      single queries that were answered at the top (rank 1 to 3) and are not answered at all any more:
               more than allowed, or one of them tagged `critical`

Recording and deciding are apart: any stored run can be gated again under other rules.
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

CRITICAL = "critical"  # the tag of queries that may never break
_TOP = 3  # a query is answered at the top when its first relevant result stands this high


@dataclass(frozen=True, slots=True)
class Rules:
    """What is demanded. Floors by measure; for measures where lower is better they are ceilings."""

    floors: Mapping[str, float] = field(default_factory=dict)
    guarded: Sequence[str] = ()
    tolerance: float = 0.02
    alpha: float = 0.05
    breaks_allowed: int | None = None  # None: one, and one more for every 50 queries


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and how it went."""

    name: str
    passed: bool
    message: str


def floors_from(texts: Sequence[str]) -> dict[str, float]:
    """`RR@10=0.7` → {RR@10: 0.7}."""
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
    """Every check of a run, in order. `comparison` is baseline → this run."""
    checks = [_complete(scores)]
    checks += [_floor(scores, name, least) for name, least in rules.floors.items()]
    if comparison is not None:
        checks += [_loss(comparison, name, rules) for name in rules.guarded]
        checks.append(_breaks(comparison, rules, critical))
    return checks


def _complete(scores: Scores) -> Check:
    failed = int(np.nansum(scores.values.get("failure_rate", np.zeros(1))))
    note = f"; the system failed on {failed}, which score 0" if failed else ""
    return Check(
        "run is complete", scores.status == "complete", f"{len(scores.queries)} queries, {scores.status}{note}"
    )


def _floor(scores: Scores, name: str, least: float) -> Check:
    value = scores.means.get(name)
    if value is None:
        return Check(f"{name} floor", False, f"{name} could not be measured on this run")
    higher = parse(name).higher_is_better
    passed = value >= least - 1e-12 if higher else value <= least + 1e-12
    return Check(
        f"{name} floor", passed, f"{name} is {value:.4f}, {'at least' if higher else 'at most'} {least:g} is demanded"
    )


def _loss(comparison: Comparison, name: str, rules: Rules) -> Check:
    if name not in comparison.statistics:
        return Check(f"{name} against the baseline", False, f"{name} could not be measured in both runs")
    pair, adjusted = comparison.statistics[name], comparison.adjusted[name]
    loss = -pair.delta if parse(name).higher_is_better else pair.delta
    failed = loss > rules.tolerance and adjusted < rules.alpha
    told = f"{name} {pair.mean_a:.4f} → {pair.mean_b:.4f} ({pair.delta:+.4f}, p = {adjusted:.3f} after Holm)"
    if failed:
        told += f": a loss above the tolerance of {rules.tolerance:g} that is no chance"
    elif loss > rules.tolerance:
        detectable = finite(pair.detectable)
        told += ": lower, but within what chance does" + (f"; this set detects {detectable:g}" if detectable else "")
    return Check(f"{name} against the baseline", not failed, told)


def _breaks(comparison: Comparison, rules: Rules, critical: frozenset[str]) -> Check:
    regression = KINDS.index("Regression")
    broken = np.flatnonzero((comparison.kinds == regression) & (comparison.a_rank <= _TOP)).tolist()
    names = [comparison.queries[number] for number in broken]
    fatal = [name for name in names if name in critical]
    allowed = 1 + len(comparison.queries) // 50 if rules.breaks_allowed is None else rules.breaks_allowed
    passed = len(names) <= allowed and not fatal
    told = f"{len(names)} queries answered in the top {_TOP} before are not answered now; {allowed} allowed"
    if names:
        told += f": {', '.join(names[:10])}" + (" …" if len(names) > 10 else "")
    if fatal:
        told += f"; tagged {CRITICAL}: {', '.join(fatal[:10])}"
    return Check("no query breaks", passed, told)


# how the outcome is told


def as_json(scores: Scores, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "run_id": scores.run_id,
        "passed": all(check.passed for check in checks),
        "checks": [{"name": c.name, "passed": c.passed, "message": c.message} for c in checks],
    }


def junit(scores: Scores, checks: Sequence[Check]) -> str:
    """JUnit XML: one test case per check."""
    failures = sum(not check.passed for check in checks)
    suite = ElementTree.Element(
        "testsuite", name="assay eval gate", tests=str(len(checks)), failures=str(failures), errors="0"
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_printable(f"gate.{scores.system}"), name=_printable(check.name)
        )
        if not check.passed:
            ElementTree.SubElement(case, "failure", message=_printable(check.message)).text = _printable(check.message)
    return str(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True), "utf-8") + "\n"


def github_annotations(checks: Sequence[Check]) -> list[str]:
    """Workflow commands by which GitHub shows failures at the pull request."""
    return [f"::error title={_escaped(c.name, True)}::{_escaped(c.message)}" for c in checks if not c.passed]


def markdown(scores: Scores, checks: Sequence[Check], advice: str = "") -> str:
    """The outcome as a table, for a step summary; what to do about it below."""
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


def _printable(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def _escaped(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


# At which confidence to refuse: what each threshold would have answered and refused of a golden set, and which one
# is best.

FEWEST = 8  # questions of either kind; below, one of them moves the figure by more than any threshold
_KINDS = ((False, "answer"), (True, "refuse"))
_STEPS = 20  # thresholds that are shown
_NORMAL = 1.96  # standard errors to either side of a 95 % interval


@dataclass(frozen=True, slots=True)
class Judged:
    """How sure a system was about one question, and whether it should refuse it."""

    confidence: float
    refuse: bool


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: the shares of the answerable that it answers and of the others that it refuses, their mean, and its 95 % interval."""

    threshold: float
    answered: float
    refused: float
    balanced: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The threshold to use; `change` says whether it is surely better than the one in use, `why` what that rests on."""

    point: Point
    used: Point
    change: bool
    why: str


def at(threshold: float, judged: Sequence[Judged]) -> Point:
    """What a threshold does. The interval is that of Agresti and Caffo, which holds for small sets and for shares of 0 and 1."""
    sure = [one.confidence >= threshold for one in judged if not one.refuse]
    unsure = [one.confidence < threshold for one in judged if one.refuse]
    answered, refused = _share(sure), _share(unsure)
    drawn = [((sum(kind) + 1) / (len(kind) + 2), len(kind) + 2) for kind in (sure, unsure)]
    middle = sum(share for share, _ in drawn) / 2
    spread = _NORMAL * math.sqrt(sum(share * (1 - share) / size for share, size in drawn)) / 2
    balanced = (answered + refused) / 2
    return Point(
        threshold, answered, refused, balanced,
        max(0.0, min(middle - spread, balanced)), min(1.0, max(middle + spread, balanced)),
    )  # fmt: skip


def curve(judged: Sequence[Judged]) -> list[Point]:
    """The thresholds from 0 to 1 in even steps."""
    return [at(step / _STEPS, judged) for step in range(_STEPS + 1)]


def advise(judged: Sequence[Judged], used: float) -> Advice:
    """The best threshold, in the middle of where it makes no difference; the one in use where no other is surely better."""
    now = at(used, judged)
    few, kind = min((sum(one.refuse == refuse for one in judged), name) for refuse, name in _KINDS)
    if few < FEWEST:
        why = f"the set has only {counted(few, 'question')} to {kind}: too few to tell, {FEWEST} are the least"
        return Advice(now, now, False, why)
    points = [at(threshold, judged) for threshold in _between(judged)]
    best = max(points, key=lambda point: (point.balanced, -abs(point.threshold - used)))
    if best.balanced <= now.balanced:
        return Advice(now, now, False, "none does better on this set")
    if now.balanced >= best.low:
        return Advice(
            best, now, False, "better on this set, but by less than chance may bring: more questions would tell"
        )
    return Advice(best, now, True, "better by more than chance")


def _between(judged: Sequence[Judged]) -> list[float]:
    """One threshold between any two neighbouring confidences, to two decimals where that still lies between them."""
    met = sorted({0.0, *(one.confidence for one in judged), 1.0})
    found = []
    for low, high in pairwise(met):
        middle = (low + high) / 2
        found.append(round(middle, 2) if low < round(middle, 2) <= high else middle)
    return found


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan
