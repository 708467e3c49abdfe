"""A tuning as JSON, which the text is drawn from, too. docs/guides/tune.md says what each field is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.evaluate.metrics.judged import Floats
from assay.evaluate.statistics import Paired, paired
from assay.evaluate.tune.crossing import Fold
from assay.evaluate.tune.tuning import Tuning
from assay.evaluate.tune.verdict import ALPHA, GAIN, LARGEST, TOO_FEW
from assay.text.counting import counted


def report(tuning: Tuning) -> dict[str, Any]:
    """Everything a tuning found out."""
    asking, tuned, verdict = tuning.asking, tuning.tuned, tuning.tuned.verdict
    return {
        "golden": {
            "path": asking.golden.path,
            "digest": asking.golden.digest,
            "queries": len(asking.golden.queries),
            "judged": verdict.held_out.n,
        },
        "measure": str(asking.measure),
        "matching": asking.matching.name,
        "base": asking.base,
        "outcome": verdict.outcome,
        "said": said(tuning),
        "held_out": comparison(verdict.held_out),
        "in_sample": {"base": _mean(tuned.base), "tuned": _mean(tuned.tuned)},
        "changes": [_change(tuning, name, value) for name, value in tuned.changes],
        "folds": {"by": tuning.folds.by, "each": [_fold(one) for one in tuned.folds]},
        "left_out": [name for name, _ in asking.fixed],
        "warnings": warnings(tuning),
        "work": {"asked": tuning.asked, "answered_before": tuning.before},
    }


def said(tuning: Tuning) -> str:
    """The verdict in a sentence."""
    verdict = tuning.tuned.verdict
    pair = verdict.held_out
    if verdict.outcome == GAIN:
        return f"the tuned profile is better on queries it was not tuned on, by more than chance (p < {ALPHA:g})"
    if verdict.outcome == TOO_FEW:
        return (
            f"{counted(pair.n, 'query', 'queries')} cannot tell: with differences like these a gain of {LARGEST:g} needs {verdict.needed:,}. "
            "`assay eval mine` makes some from the commits of a repository"
        )
    if pair.delta < 0 and pair.p < ALPHA:
        return "what was tuned is worse on queries it was not tuned on, by more than chance: the profile fits them as it is"
    if not any(fold.changes for fold in tuning.tuned.folds):
        return "no gain that is more than chance: no change of a number stood out from the noise"
    seen = "" if math.isnan(pair.detectable) else f"; a gain of {pair.detectable:.3f} would have shown"
    return f"no gain that is more than chance{seen}"


def warnings(tuning: Tuning) -> list[str]:
    """What must be known before the outcome is believed."""
    asking, found = tuning.asking, list(tuning.asking.golden.warnings)
    if tuning.leaked:
        found.append(
            f"{tuning.leaked} of {len(asking.golden.queries)} queries were mined from commits that the index knows: it was measured without history, "
            "and history and touched stay as they are. The indexed code may hold the changes, too (see `docs/guides/mining.md`)"
        )
    found += tuning.tuned.verdict.held_out.notes
    return found


def comparison(pair: Paired) -> dict[str, Any]:
    """Base and tuned, query by query."""
    return {
        "base": _finite(pair.mean_a), "tuned": _finite(pair.mean_b), "delta": _finite(pair.delta),
        "low": _finite(pair.interval.low), "high": _finite(pair.interval.high), "p": _finite(pair.p), "method": pair.method,
        "wins": pair.wins, "losses": pair.losses, "ties": pair.ties, "clusters": pair.clusters,
        "detectable": _finite(pair.detectable),
    }  # fmt: skip


def _change(tuning: Tuning, name: str, value: float) -> dict[str, Any]:
    """A number that changes, what is lost without it, and what the folds chose for it."""
    tuned = tuning.tuned
    brings = paired(tuned.without[name], tuned.tuned)
    chosen = [dict(fold.changes).get(name) for fold in tuned.folds]
    base = tuning.base[name]
    return {
        "name": name,
        "from": base,
        "to": value,
        "brings": _finite(brings.delta),
        "low": _finite(brings.interval.low),
        "high": _finite(brings.interval.high),
        "chosen_by_folds": chosen,
        "same_direction": sum(one is not None and (one > base) == (value > base) for one in chosen),
    }


def _fold(fold: Fold) -> dict[str, Any]:
    return {
        "queries": fold.queries,
        "changes": dict(fold.changes),
        "base": _finite(fold.base),
        "tuned": _finite(fold.tuned),
    }


def _mean(figures: Floats) -> float | None:
    known = figures[~np.isnan(figures)]
    return _finite(float(known.mean())) if len(known) else None


def _finite(value: float) -> float | None:
    return round(float(value), 4) + 0.0 if math.isfinite(value) else None
