"""The gate: pass or fail a run by absolute floors and two regression guards against a baseline.

    floor      a metric is below its required minimum, overall or in a tier
    loss       a metric fell by more than the tolerance, significantly (randomisation test, Holm over guarded metrics)
    break      queries answered at the top (rank 1 to 3) in the baseline and not answered any more: more than noise
               explains, or one of them tagged `critical`

Runs are recorded independently of the rules, so any stored run can be gated again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from assay.core.cautions import Caution, as_json
from assay.core.golden import GoldenSet
from assay.errors import AssayError
from assay.evaluate.compare import KINDS, Comparison, compare_runs, compare_with_baseline
from assay.evaluate.ledger import MAIN
from assay.evaluate.markdown import cell
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import defaults, mean, parse, rounded
from assay.evaluate.run import FAILURES, Plan
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, main_measures, read_baseline, score_run, slice_members, stored_sanity
from assay.evaluate.statistics import randomisation
from assay.evaluate.statistics.intervals import Floats

Tiers = Mapping[str, Collection[str]]  # ids of the queries by tier

BASELINE_FILE = "eval/baseline.json"  # below the root, unless another is named
CRITICAL = "critical"  # tag of queries that may never break
MEASUREMENT = "run is a measurement"  # name of a check that only exists when it fails
_TOP = 3  # a query is answered at the top when its first relevant result ranks this high
_FEW = 50  # fewer breaks than one of so many queries pass
# One-sided level at which the changed queries are worse as a whole. With it about 5 % of the gates of an unchanged but
# noisy system fail, the loss rule included (benchmarks/gate_noise.py).
_WORSE = 0.05
_DIGITS = 9  # of a change: equal ones stay equal when they are summed


@dataclass(frozen=True, slots=True)
class Floor:
    """The minimum of a measure's mean, over the queries of a tier if one is named; a ceiling where lower is better."""

    measure: str
    value: float
    tier: str = ""
    relative: bool = False  # the value is a share of the baseline's mean
    origin: str = ""  # of an absolute value that was a share

    @property
    def name(self) -> str:
        return f"{self.tier} {self.measure}".strip()


@dataclass(frozen=True, slots=True)
class Rules:
    """Gate requirements."""

    floors: Sequence[Floor] = ()
    guarded: Sequence[str] = ()
    tolerance: float = 0.02
    alpha: float = 0.05
    breaks_allowed: int | None = None  # None: as many as noise explains


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of a single check."""

    name: str
    passed: bool
    message: str


@dataclass(frozen=True, slots=True)
class Gated:
    """The outcome of a gate: all checks of a run, and its comparison with the baseline, if there is one."""

    scores: Scores
    checks: Sequence[Check]
    comparison: Comparison | None

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def decided(self) -> bool:
        """False if a run is not a measurement, so that neither a pass nor a loss is shown."""
        return all(check.name != MEASUREMENT for check in self.checks)

    @property
    def warnings(self) -> Sequence[Caution]:
        return self.comparison.warnings if self.comparison else ()

    def as_json(self) -> dict[str, Any]:
        checks = [asdict(check) for check in self.checks]
        return {
            "run_id": self.scores.run_id,
            "passed": self.passed,
            "checks": checks,
            "warnings": as_json(self.warnings),
        }


def parse_floors(texts: Sequence[str]) -> list[Floor]:
    """Parse `RR@10=0.7`, `easy:RR@10=0.3` (of a tier) and `RR@10=90%` (of the baseline's mean)."""
    floors = []
    for text in texts:
        name, _, value = text.partition("=")
        tier, _, measure = name.rpartition(":")
        number = value.strip().removesuffix("%")
        if not re.fullmatch(r"(\d*\.)?\d+(e-?\d+)?", number):
            raise AssayError(
                f"--min '{text}': write a measure and a number, like RR@10=0.7, easy:RR@10=0.3 or RR@10=90%"
            )
        relative = value.strip().endswith("%")
        share = float(number) / (100 if relative else 1)
        floors.append(Floor(str(parse(measure.strip())), share, tier.strip(), relative))
    return floors


def find_baseline(store: RunStore, baseline: str | None, root: Path) -> Path | RunInfo | None:
    """Return what a gate compares with: a file, or a run of the store. None if none is named and there is no default.

    A name is that of a file, of a baseline in the store, or of a run. The default is the store's own baseline, else the
    file that is committed.
    """
    if baseline is not None and (baseline.endswith(".json") or Path(baseline).exists()):
        return Path(baseline)
    stored = store.ledger.baseline(baseline or MAIN)
    if stored is not None:
        return store.info(stored.run_id)
    if baseline is not None:
        return store.find(baseline)
    default = root / BASELINE_FILE
    return default if default.exists() else None


def comparable_plan(golden: GoldenSet, baseline: Path | RunInfo | None) -> Plan:
    """Return the plan of a run with the matcher and k of the baseline, if there is one."""
    if baseline is None:
        return Plan(matcher_for(golden, None))
    reference = read_baseline(baseline) if isinstance(baseline, Path) else baseline
    return Plan(matcher_for(golden, reference.matching), reference.k)


def gate_run(
    store: RunStore, info: RunInfo, rules: Rules, against: Path | RunInfo | None, force: bool = False
) -> Gated:
    """Check a stored run against the rules and a baseline: a file, or another run of the store.

    A run that is not a measurement fails without a comparison: zeros against zeros would pass.
    """
    baseline = read_baseline(against) if isinstance(against, Path) else against
    floors = [*rules.floors, *parse_floors(baseline.floors if isinstance(baseline, Scores) else ())]
    measured = [floor.measure for floor in floors]
    names = dict.fromkeys([*map(str, defaults(info.k)), *measured, *rules.guarded])
    scores = score_run(store, info, [parse(name) for name in names])
    guarded = [str(parse(name)) for name in rules.guarded] or [
        name for name in map(str, main_measures(scores.k)) if scores.means[name] is not None
    ]
    queries = store.golden(info).queries if any(floor.tier for floor in floors) else ()
    tiers = {tier: frozenset(queries[row].id for row in rows) for tier, rows in slice_members(queries, "tiers").items()}
    if any(floor.relative for floor in floors):
        before = (
            score_run(store, baseline, [parse(name) for name in measured])
            if isinstance(baseline, RunInfo)
            else baseline
        )
        floors = [_absolute(floor, before, tiers) for floor in floors]
    answered = info.status in ("complete", FAILURES)  # an incomplete run is refused as such
    invalid = [f"run {info.run_id}: {scores.invalid}"] if scores.invalid and answered else []
    if isinstance(baseline, RunInfo) and (reason := stored_sanity(baseline).reason):
        invalid.append(f"baseline {baseline.run_id}: {reason}")
    comparison = _compare(store, info, baseline, guarded, force) if baseline is not None and not invalid else None
    unstable = frozenset(store.unstable(info.run_id)) if info.repeat > 1 else None
    rules = replace(rules, floors=floors, guarded=guarded)
    checks = gate(scores, rules, comparison, store.tagged(info, CRITICAL), unstable, tiers)
    return Gated(scores, [*(Check(MEASUREMENT, False, reason) for reason in invalid), *checks], comparison)


def _absolute(floor: Floor, baseline: Scores | None, tiers: Tiers) -> Floor:
    """Return a floor that is a share of the baseline's mean as a value."""
    if not floor.relative:
        return floor
    before = _mean(baseline, floor, tiers) if baseline is not None else None
    if before is None:
        raise AssayError(f"--min {floor.name}={floor.value:.0%}: no baseline has {floor.name} to take a share of")
    return replace(floor, value=floor.value * before, relative=False, origin=f" ({floor.value:.0%} of {before:.4f})")


def _mean(scores: Scores, floor: Floor, tiers: Tiers) -> float | None:
    """Return the mean that a floor is about."""
    if not floor.tier:
        return scores.means.get(floor.measure)
    if floor.tier not in tiers:
        have = f"the tiers are {', '.join(tiers)}" if tiers else "the set has no tiers"
        raise AssayError(f"no query is of tier '{floor.tier}': {have}")
    rows = [row for row, query in enumerate(scores.queries) if query in tiers[floor.tier]]
    return mean(scores.values[floor.measure][rows]) if floor.measure in scores.values else None


def _compare(
    store: RunStore, info: RunInfo, baseline: Scores | RunInfo, guarded: Sequence[str], force: bool
) -> Comparison:
    if not guarded:
        raise AssayError(
            "no query of this golden set has ranked expectations: name the measures, as in --guard refusal_correctness"
        )
    measures = [parse(name) for name in guarded]
    if isinstance(baseline, Scores):
        return compare_with_baseline(store, baseline, info, measures, force)
    return compare_runs(store, baseline, info, measures, force=force)


def gate(
    scores: Scores,
    rules: Rules,
    comparison: Comparison | None = None,
    critical: frozenset[str] = frozenset(),
    unstable: frozenset[str] | None = None,
    tiers: Tiers | None = None,
) -> list[Check]:
    """Run every check, in order.

    `comparison` goes from the baseline to this run. `unstable` are the queries whose repeats differed, None if they
    were not repeated; `tiers` has the queries of each. Floors are absolute here.
    """
    checks = [_check_complete(scores)]
    checks += [_check_floor(scores, floor, tiers or {}) for floor in rules.floors]
    if comparison is not None:
        checks += [_check_loss(comparison, name, rules) for name in rules.guarded]
        checks.append(_check_breaks(comparison, rules, critical, unstable))
    return checks


def _check_complete(scores: Scores) -> Check:
    failed = int(np.nansum(scores.values.get("failure_rate", np.zeros(1))))
    note = {"complete": "", FAILURES: f"; the system failed on {failed} of them"}.get(
        scores.status, f", {scores.status}"
    )
    return Check("run is complete", scores.status == "complete", f"{len(scores.queries)} queries{note}")


def _check_floor(scores: Scores, floor: Floor, tiers: Tiers) -> Check:
    value, name = _mean(scores, floor, tiers), floor.name
    if value is None:
        return Check(f"{name} floor", False, f"{name} could not be measured on this run")
    higher = parse(floor.measure).higher_is_better
    passed = value >= floor.value - 1e-12 if higher else value <= floor.value + 1e-12
    required = f"at {'least' if higher else 'most'} {rounded(floor.value):g}{floor.origin}"
    return Check(f"{name} floor", passed, f"{name} is {value:.4f}; required: {required}")


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
        detectable = rounded(pair.detectable)
        message += ": lower, but not significantly" + (f"; this set detects {detectable:g}" if detectable else "")
    return Check(f"{name} against the baseline", not failed, message)


def _check_breaks(
    comparison: Comparison, rules: Rules, critical: frozenset[str], unstable: frozenset[str] | None
) -> Check:
    regression = KINDS.index("Regression")
    broken = np.flatnonzero((comparison.kinds == regression) & (comparison.a_rank <= _TOP)).tolist()
    names = [comparison.queries[number] for number in broken]
    fatal = [name for name in names if name in critical]
    message = f"{len(names)} queries answered in the top {_TOP} before are not answered now"
    if rules.breaks_allowed is not None:
        passed, reason = len(names) <= rules.breaks_allowed, f"; {rules.breaks_allowed} allowed"
    else:
        passed, reason = _within_noise(comparison, names, unstable) if names else (True, "")
    message += reason
    if names:
        message += f": {', '.join(names[:10])}" + (" …" if len(names) > 10 else "")
    if fatal:
        message += f"; tagged {CRITICAL}: {', '.join(fatal[:10])}"
    return Check("no query breaks", passed and not fatal, message)


def _within_noise(comparison: Comparison, broken: Sequence[str], unstable: frozenset[str] | None) -> tuple[bool, str]:
    """Return whether noise explains the broken queries, and why (not).

    A noisy system improves as many queries as it worsens, so breaks count when the changes as a whole are to the worse.
    A query whose repeats agree has no noise: its break counts in any case, beyond one and one more per `_FEW` queries.
    Noise does not break most of what was answered at the top; a test of a few queries could not tell.
    """
    top = int(np.count_nonzero((comparison.a_rank > 0) & (comparison.a_rank <= _TOP)))
    if len(broken) > max(1, top / 2):
        return False, f", which is most of {top}"
    few, queries = len(broken) * _FEW < len(comparison.queries), len(comparison.queries)
    change = _overall_change(comparison)
    p = randomisation(change).p / 2
    p = p if change.sum() < 0 else 1 - p
    worse, better = int((change < 0).sum()), int((change > 0).sum())
    reason = f"; {worse} are worse and {better} better as a whole (one-sided p = {p:.3f})"
    if unstable is not None:
        steady, allowed = sum(name not in unstable for name in broken), 1 + queries // _FEW
        if steady > allowed:
            return False, f"; {steady} of them gave the same results when repeated, {allowed} allowed"
    if p > _WORSE or few:
        return True, reason + (", no more than noise" if p > _WORSE else f", but fewer than 1 of {_FEW} broke")
    return False, reason + ", more than noise"


def _overall_change(comparison: Comparison) -> Floats:
    """Return the change of each query: the sum over the guarded metrics and being answered, each in its own spread."""
    answered = (comparison.b_rank > 0).astype(float) - (comparison.a_rank > 0)
    for number, (before, after) in comparison.refusals.items():
        answered[number] = after - before
    a_rows, b_rows = comparison.a.rows(comparison.queries), comparison.b.rows(comparison.queries)
    changes = [answered]
    for name in comparison.statistics:
        change = np.nan_to_num(comparison.b.values[name][b_rows] - comparison.a.values[name][a_rows])
        changes.append(change if parse(name).higher_is_better else -change)
    total = sum((change / spread for change in changes if (spread := change.std()) > 0), np.zeros(len(answered)))
    return np.round(total, _DIGITS)


# output formats


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
    rows = [f"| {'✅' if c.passed else '❌'} | {cell(c.name)} | {cell(c.message)} |" for c in checks]
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


def _xml_safe(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)


def _escape_annotation(text: str, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
