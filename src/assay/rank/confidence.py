"""Calibrated confidence: the probability that one of the first five results is right, from features of the ranking.

confidence.json holds the logistic regression weights, the same for every profile. `scripts/fit_confidence.py` fits them;
docs/guides/context.md defines "right" and reports the calibration.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.rank.arrays import Ints
from assay.rank.background import background, ratios
from assay.rank.profile import Profile
from assay.rank.ranking import Ranking
from assay.text.terms import terms
from assay.text.tokens import LONGEST_TASK

if TYPE_CHECKING:
    from assay.rank.candidates import Candidates

FIRST = 5  # top results among which one should be right
WEIGHTS = "confidence.json"
VERSION = 4  # of the features and the file; weights of another version do not apply
_TENTH = 10
_SMALLEST, _LARGEST = 150, 25_000  # item counts of the training repositories: size is clipped to this range
_REPORTED_WORDS = 8  # unmatched words that are reported
_WORD = 40  # characters of a reported word
_MOST_TERMS = 40  # of a task that are compared with the usual, and whose pairs are looked up
_CHARACTERISTIC = 3  # terms


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
    pairs: float  # share of the task's pairs of close terms, by rarity, that stand together in a name or path
    typical: float  # mean log ratio of how many names have a term to how many usually have it
    characteristic: float  # sum of the three highest log ratios of how many items have a term to the usual, by three
    phrase: float  # most adjacent words of a candidate's name that are adjacent in the task
    meaning: float  # mean over the first five of the best cosine with the task in their file


@dataclass(frozen=True, slots=True)
class Weights:
    """Logistic regression weights of whether the repository has the answer: intercept and log odds per feature."""

    base: float
    signs: Mapping[str, float]
    right: float  # how often one of the first five is right if the repository has the answer

    def chance(self, seen: ConfidenceFeatures) -> float:
        odds = self.base + sum(self.signs[name] * value for name, value in asdict(seen).items())
        return self.right / (1 + math.exp(-odds))


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_name(WEIGHTS).read_text("utf-8"))
    return table


@cache
def weights() -> Weights:
    """Return the shipped weights."""
    table = _table()
    return Weights(table["base"], table["signs"], table["right"])


def shipped_threshold() -> float:
    """Return the probability below which an answer is reported as probably absent."""
    return float(_table()["threshold"])


def confidence(ranking: Ranking, profile: Profile) -> float | None:
    """Return the probability that one of the first five is right; 0 without results, None if the profile lacks features."""
    if not (profile.walk and profile.channels.get("names")):
        return None
    return weights().chance(confidence_features(ranking)) if ranking.scores.any() else 0.0


def confidence_features(ranking: Ranking) -> ConfidenceFeatures:
    """Compute the features of a ranking with results."""
    first = ranking.highest(ranking.scores, FIRST)
    best = ranking.direct[ranking.highest(ranking.direct, _TENTH)]
    by_words, by_walk = (ranking.highest(values, FIRST) for values in (ranking.factors["lexical"], ranking.walk.visits))
    seen, unseen = sum(ranking.terms.values()), sum(ranking.unseen.values())
    candidates = ranking.candidates
    assert candidates is not None
    typical, characteristic = _keyness(candidates)
    return ConfidenceFeatures(
        tenth=float(best[-1] / best[0]) if len(best) == _TENTH else 0.0,
        called=float(len(ranking.called) > 0),
        direct_hits=float("direct_hits" in ranking.additions and (ranking.additions["direct_hits"][first] > 0).any()),
        agreement=_overlap(by_words, by_walk) / FIRST,
        covered=float(ranking.coverage[first].max() / max(ranking.coverage.max(), 1e-9)),
        unseen=(unseen / max(seen + unseen, 1e-9)) ** 2,
        names=math.log1p(len(ranking.channels["names"].items)),
        size=math.log(min(max(ranking.item_count, _SMALLEST), _LARGEST)),
        pairs=_paired(ranking, candidates),
        typical=typical,
        characteristic=characteristic,
        phrase=float(candidates.name_matches[:, 2].max(initial=0.0)),
        meaning=_meaning(candidates, first),
    )


def _paired(ranking: Ranking, candidates: Candidates) -> float:
    """Return the share of the pairs of close terms that stand together in a name or path.

    Words of other topics occur everywhere; next to each other they do not.
    """
    rarity = {**ranking.terms, **ranking.unseen}
    sequence = [term for term in candidates.query.task.sequence if term in rarity][:_MOST_TERMS]
    close = chain(pairwise(sequence), zip(sequence, sequence[2:], strict=False))
    pairs = {(min(pair), max(pair)) for pair in close if pair[0] != pair[1]}
    having = {term: candidates.placed(term) for term in sequence if term in ranking.terms}
    together = everything = 0.0
    for first, second in pairs:
        weight = min(rarity[first], rarity[second])
        everything += weight
        if first in having and second in having:
            both = np.intersect1d(having[first], having[second], assume_unique=True)
            together += weight if len(both) else 0.0
    return together / everything if everything else 0.0


def _keyness(candidates: Candidates) -> tuple[float, float]:
    """Return how much more often than usual the terms of the task are in names, and the most typical ones anywhere."""
    terms = [*dict.fromkeys(candidates.query.task.sequence[:_MOST_TERMS])]
    if not terms:
        return 0.0, 0.0
    keyness = ratios(background().usual(terms), candidates.query.index.postings, terms)
    highest = np.sort(keyness[:, 0].clip(min=0))[-_CHARACTERISTIC:]
    return float(keyness[:, 1].mean()), float(highest.sum() / _CHARACTERISTIC)


def _meaning(candidates: Candidates, first: Ints) -> float:
    """Return the mean over items of the best cosine with the task in their file."""
    best = candidates.similarity.best_of(candidates.files)[np.isin(candidates.numbers, first)]
    return float(best.mean()) if len(best) else 0.0


def _overlap(some: Ints, others: Ints) -> int:
    return len(set(some.tolist()) & set(others.tolist()))


def unseen_words(ranking: Ranking) -> tuple[str, ...]:
    """Return the first few words of the task, as written, that match nothing in the index."""
    unmatched: dict[str, str] = {}
    for word in re.findall(r"\w+", ranking.task[:LONGEST_TASK]):
        stems = terms(word)
        if stems and all(stem in ranking.unseen for stem in stems):
            unmatched.setdefault(word.lower(), word if len(word) <= _WORD else word[:_WORD] + "…")
    return tuple(unmatched.values())[:_REPORTED_WORDS]
