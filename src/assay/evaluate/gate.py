"""The gate: pass or fail a run by absolute floors and two regression guards against a baseline.

    floor      a metric is below its required minimum
    loss       a metric fell by more than the tolerance, significantly (randomisation test, Holm over guarded metrics)
    break      queries answered at the top (rank 1 to 3) in the baseline and not answered any more:
               more than allowed, or one of them tagged `critical`

Runs are recorded independently of the rules, so any stored run can be gated again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from assay.evaluate.metrics import defaults, parse, rounded
from assay.evaluate.run import FAILURES, Plan
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import Scores, main_measures, read_baseline, score_run, stored_sanity

BASELINE_FILE = "eval/baseline.json"  # below the root, unless another is named
CRITICAL = "critical"  # tag of queries that may never break
MEASUREMENT = "run is a measurement"  # name of a check that only exists when it fails
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


def parse_floors(texts: Sequence[str]) -> dict[str, float]:
    """Parse `RR@10=0.7` → {RR@10: 0.7}."""
    floors = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"\s*(\d*\.)?\d+(e-?\d+)?\s*", value):
            raise AssayError(f"--min '{text}': write a measure and a number, like RR@10=0.7")
        floors[str(parse(name.strip()))] = float(value)
    return floors


def find_baseline(store: RunStore, baseline: str | None, root: Path) -> Path | RunInfo | None:
    """Return what a gate compares with: a file, or a run of the store. None if none is named and there is no default.

    A name is that of a file, of a baseline in the store, or of a run. The default is the store's own baseline, else the
    file that is committed.
    """
    if baseline is not None and is_baseline_file(baseline):
        return Path(baseline)
    stored = store.ledger.baseline(baseline or MAIN)
    if stored is not None:
        return store.info(stored.run_id)
    if baseline is not None:
        return store.find(baseline)
    default = root / BASELINE_FILE
    return default if default.exists() else None


def is_baseline_file(baseline: str) -> bool:
    """Return whether a baseline is named by its file."""
    return baseline.endswith(".json") or Path(baseline).exists()


def comparable_plan(golden: GoldenSet, baseline: Path | RunInfo | None) -> Plan:
    """Return the plan of a run with the matcher and k of the baseline, if there is one."""
    if baseline is None:
        return Plan(matcher_for(golden, None))
    reference = read_baseline(baseline) if isinstance(baseline, Path) else baseline
    return Plan(matcher_for(golden, reference.matching), reference.k)


def gate_run(
    store: RunStore, info: RunInfo, rules: Rules, baseline: Path | RunInfo | None, force: bool = False
) -> Gated:
    """Check a stored run against the rules and a baseline, a file or another run."""
    before = read_baseline(baseline) if isinstance(baseline, Path) else baseline
    return gate_against(store, info, rules, before, force)


def gate_against(
    store: RunStore, info: RunInfo, rules: Rules, baseline: Scores | RunInfo | None, force: bool = False
) -> Gated:
    """Check a stored run against the rules and a baseline: the scores of a file, or another run of the store.

    A run that is not a measurement fails without a comparison: zeros against zeros would pass.
    """
    names = dict.fromkeys([*map(str, defaults(info.k)), *rules.floors, *rules.guarded])
    scores = score_run(store, info, [parse(name) for name in names])
    guarded = [str(parse(name)) for name in rules.guarded] or [
        name for name in map(str, main_measures(scores.k)) if scores.means[name] is not None
    ]
    before = stored_sanity(baseline).reason if isinstance(baseline, RunInfo) else ""
    answered = info.status in ("complete", FAILURES)  # an incomplete run is refused as such
    invalid = [f"run {info.run_id}: {scores.invalid}"] if scores.invalid and answered else []
    invalid += [f"baseline {baseline.run_id}: {before}"] if baseline is not None and before else []
    comparison = _compare(store, info, baseline, guarded, force) if baseline is not None and not invalid else None
    checks = gate(scores, replace(rules, guarded=guarded), comparison, store.tagged(info, CRITICAL))
    return Gated(scores, [*(Check(MEASUREMENT, False, reason) for reason in invalid), *checks], comparison)


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
    note = {"complete": "", FAILURES: f"; the system failed on {failed} of them"}.get(
        scores.status, f", {scores.status}"
    )
    return Check("run is complete", scores.status == "complete", f"{len(scores.queries)} queries{note}")


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
        detectable = rounded(pair.detectable)
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
