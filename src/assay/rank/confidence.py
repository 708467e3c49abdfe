"""Calibrated confidence: the probability that one of the first five results is right, from features of the ranking.

confidence.json holds the logistic regression weights. `scripts/fit_confidence.py` fits them on later commits of public
repositories; docs/guides/context.md defines "right" and reports the calibration.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.rank.arrays import Ints
from assay.rank.profile import CHANGE, DEFAULT, Profile
from assay.rank.ranking import Ranking
from assay.text.terms import terms
from assay.text.tokens import LONGEST_TASK

FIRST = 5  # top results among which one should be right
WEIGHTS = "confidence.json"
VERSION = 2  # of the features and the file; weights of another version do not apply
_TENTH = 10
_SMALLEST, _LARGEST = 150, 25_000  # item counts of the training repositories: size is clipped to this range
_REPORTED_WORDS = 5  # unmatched words that are reported


@dataclass(frozen=True, slots=True)
class ConfidenceFeatures:
    """Features of the confidence model. None depends on the score scale, so they compare across repositories."""

    tenth: float  # tenth direct score relative to the best: near 1 when many fit equally well
    called: float  # 1 if the task names an existing symbol, else 0
    direct_hits: float  # 1 if the task points at one of the first five: by path, frame or rare name
    agreement: float  # overlap of the lexical top five and the graph walk's top five
    covered: float  # best term coverage among the first five, relative to the best of all items
    unseen: float  # share of the task's terms, by rarity, without a match, squared: most tasks have some
    names: float  # log number of name matches
    size: float  # log number of items


@dataclass(frozen=True, slots=True)
class Weights:
    """Logistic regression weights: intercept and log odds per feature."""

    base: float
    signs: Mapping[str, float]

    def chance(self, seen: ConfidenceFeatures) -> float:
        odds = self.base + sum(self.signs[name] * value for name, value in asdict(seen).items())
        return 1 / (1 + math.exp(-odds))


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name(WEIGHTS).read_text("utf-8"))
    return table


@cache
def weights(name: str) -> Weights:
    """Return the shipped weights of a profile that they were fitted on."""
    fitted = _table()["profiles"][name]
    return Weights(fitted["base"], fitted["signs"])


def shipped_threshold() -> float:
    """Return the probability below which an answer is reported as probably absent."""
    return float(_table()["threshold"])


def fitted_for(profile: Profile) -> str | None:
    """Return the profile whose weights apply to this one; None if it lacks the features."""
    if not (profile.walk and profile.channels.get("names") and profile.scoring == "shares"):
        return None
    return CHANGE if profile.ranker and profile.ranker_model == "commits" else DEFAULT


def confidence(ranking: Ranking, profile: Profile) -> float | None:
    """Return the probability that one of the first five is right; 0 without results, None for unsupported profiles."""
    name = fitted_for(profile)
    if name is None:
        return None
    return weights(name).chance(confidence_features(ranking)) if ranking.scores.any() else 0.0


def confidence_features(ranking: Ranking) -> ConfidenceFeatures:
    """Compute the features of a ranking with results."""
    first = ranking.highest(ranking.scores, FIRST)
    best = ranking.direct[ranking.highest(ranking.direct, _TENTH)]
    by_words, by_walk = (ranking.highest(values, FIRST) for values in (ranking.factors["lexical"], ranking.walk.visits))
    seen, unseen = sum(ranking.terms.values()), sum(ranking.unseen.values())
    return ConfidenceFeatures(
        tenth=float(best[-1] / best[0]) if len(best) == _TENTH else 0.0,
        called=float(len(ranking.called) > 0),
        direct_hits=float("direct_hits" in ranking.additions and (ranking.additions["direct_hits"][first] > 0).any()),
        agreement=_overlap(by_words, by_walk) / FIRST,
        covered=float(ranking.coverage[first].max() / max(ranking.coverage.max(), 1e-9)),
        unseen=(unseen / max(seen + unseen, 1e-9)) ** 2,
        names=math.log1p(len(ranking.channels["names"].items)),
        size=math.log(min(max(ranking.item_count, _SMALLEST), _LARGEST)),
    )


def _overlap(some: Ints, others: Ints) -> int:
    return len(set(some.tolist()) & set(others.tolist()))


def unseen_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the first few words of the task, as written, that match nothing in the index."""
    unmatched: dict[str, str] = {}
    for word in re.findall(r"\w+", ranking.task[:LONGEST_TASK]):
        stems = terms(word)
        if stems and all(stem in ranking.unseen for stem in stems):
            unmatched.setdefault(word.lower(), word)
    return tuple(unmatched.values())[:_REPORTED_WORDS]
