"""How sure a ranking is: the chance that one of its first five is right, read from the ranking itself.

confidence.json has what each sign is worth, as log odds. `scripts/fit_confidence.py` writes it from the later commits of public repositories;
docs/guides/context.md says what counts as right, and how well the chance holds.
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

from assay.rank.profile import CHANGE, DEFAULT, Profile
from assay.rank.ranking import Ints, Ranking, highest
from assay.text.terms import terms
from assay.text.tokens import LONGEST_TASK

FIRST = 5  # items among which a right one is hoped for
WEIGHTS = "confidence.json"
VERSION = 2  # of the signs and the file: weights of another version are not for them
_TENTH = 10
_SMALLEST, _LARGEST = 150, 25_000  # items of the repositories that were fitted on: beyond, size tells no more
_NAMED = 5  # words that nothing has which are told


@dataclass(frozen=True, slots=True)
class Signs:
    """What confidence is made of. None depends on the scale of scores, so they mean the same in every repository."""

    tenth: float  # the tenth direct score as a share of the best: near 1 when many would do as well
    called: float  # 1 when something here has a name that the task has, else 0
    pointed: float  # 1 when the task points at one of the first five: by a place or a name that few have
    agreement: float  # the share of the first five by words that are the first five of the walk too
    covered: float  # the words of the task that one of the first five has, as a share of what any item has
    unseen: (
        float  # the share of the task's words, by rarity, that nothing here has, squared: some are new in most tasks
    )
    names: float  # how many names here are like words of the task, as a logarithm
    size: float  # how much there is to choose from, as a logarithm


@dataclass(frozen=True, slots=True)
class Weights:
    """What a sign is worth, as log odds."""

    base: float
    signs: Mapping[str, float]

    def chance(self, seen: Signs) -> float:
        odds = self.base + sum(self.signs[name] * value for name, value in asdict(seen).items())
        return 1 / (1 + math.exp(-odds))


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name(WEIGHTS).read_text("utf-8"))
    return found


@cache
def weights(name: str) -> Weights:
    """Those that come with this version for a profile that they were fitted on."""
    fitted = _table()["profiles"][name]
    return Weights(fitted["base"], fitted["signs"])


def shipped_threshold() -> float:
    """The chance below which an answer says that it is probably not here."""
    return float(_table()["threshold"])


def fitted_for(profile: Profile) -> str | None:
    """The profile whose weights hold for this one; None if it does not rank by what the signs are read from."""
    if not (profile.walk and profile.channels.get("names") and profile.scoring == "shares"):
        return None
    return CHANGE if profile.ranker else DEFAULT


def confidence(ranking: Ranking, profile: Profile) -> float | None:
    """The chance that one of the first five is right; 0 when nothing was found, None where a profile gives no signs."""
    name = fitted_for(profile)
    if name is None:
        return None
    return weights(name).chance(signs(ranking)) if ranking.scores.any() else 0.0


def signs(ranking: Ranking) -> Signs:
    """The signs of a ranking that found something."""
    first = highest(ranking.scores, FIRST)
    best = ranking.direct[highest(ranking.direct, _TENTH)]
    by_words, by_walk = (highest(values, FIRST) for values in (ranking.factors["lexical"], ranking.walked))
    seen, unseen = sum(ranking.terms.values()), sum(ranking.unseen.values())
    return Signs(
        tenth=float(best[-1] / best[0]) if len(best) == _TENTH else 0.0,
        called=float(len(ranking.called) > 0),
        pointed=float((ranking.pointed[first] > 0).any()),
        agreement=_shared(by_words, by_walk) / FIRST,
        covered=float(ranking.covered[first].max() / max(ranking.covered.max(), 1e-9)),
        unseen=(unseen / max(seen + unseen, 1e-9)) ** 2,
        names=math.log1p(len(ranking.channels.get("names", ()))),
        size=math.log(min(max(len(ranking.scores), _SMALLEST), _LARGEST)),
    )


def _shared(some: Ints, others: Ints) -> int:
    return len(set(some.tolist()) & set(others.tolist()))


def unseen_words(ranking: Ranking) -> tuple[str, ...]:
    """The words of the task, as they are written, that nothing here has; the first few."""
    found: dict[str, str] = {}
    for word in re.findall(r"\w+", ranking.task[:LONGEST_TASK]):
        stems = terms(word)
        if stems and all(stem in ranking.unseen for stem in stems):
            found.setdefault(word.lower(), word)
    return tuple(found.values())[:_NAMED]
