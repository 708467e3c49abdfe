"""The table of signals: what follows from it holds for every row and every setting."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.packs import Association, Learned
from assay.rank.engine import Engine
from assay.rank.features import FEATURES
from assay.rank.profile import PROFILES, Profile, flatten, settings_of
from assay.rank.ranking import Ranking
from assay.rank.signals.signal import COMPONENTS, Signal, Stage
from assay.rank.signals.table import (
    BY_STAGE,
    EVIDENCE_SETTINGS,
    HISTORY_SETTINGS,
    SIGNALS,
    TUNED,
    can_share_evidence,
    channel_names,
)
from assay.store import item_words
from assay.store.index import Index
from support.repository import Repository
from support.sample_code import BASKETS

SETTINGS = settings_of(Profile())
TASKS = (
    "Total price of a basket with discounts when the invoice is sent",
    "tests of `total_price` in shop.py",
    'Traceback\n  File "shop.py", line 5, in total_price\nValueError: wrong discount',
)
# a value unlike that of the default profile, for settings that are neither numbers nor flags
OTHER: dict[str, Any] = {
    "field_weights": (1.0, 1.0, 1.0, 1.0, 5.0, 3.0, 3.0),
    "field_lengths": (1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "kind_weights": {"function": 0.1, "class": 2.0},
    "channels": {"names": 1.0, "clauses": 3.0},
    "edge_weights": {"contains": 1.0},
    "ranker_model": "commits",
}


def _changed(setting: str) -> Profile:
    """The default profile with another value of one setting."""
    value = SETTINGS[setting]
    other: Any = (
        OTHER[setting] if setting in OTHER else not value if isinstance(value, bool) else type(value)(value / 2 + 1)
    )
    return dataclasses.replace(Profile(), **{setting: other})


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", BASKETS)
    repository.write("post/send.py", "from shop import invoice\n\n\ndef send(basket):\n    print(invoice(basket))\n")
    repository.write(
        "tests/test_shop.py", "from shop import Basket\n\n\ndef test_price():\n    Basket().total_price()\n"
    )
    repository.write("README.md", "# Prices\n\nThe total price of a basket is `Basket.total_price`.\n")
    repository.commit("The total price of a basket")
    repository.index()
    return repository


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: f"{signal.stage.value} {signal.name}")
def test_every_signal_is_described_weighted_and_computed(signal: Signal) -> None:
    assert signal.component in COMPONENTS
    assert signal.meaning
    assert BY_STAGE[signal.stage][signal.name] is signal, "a name is unique within its stage"
    assert {setting.partition(".")[0] for setting in signal.weights} | set(signal.reads) <= set(SETTINGS)
    assert signal.score or (signal.generate and signal.stage in (Stage.CHANNEL, Stage.FACTOR))


def test_tuning_features_and_channels_follow_from_the_table() -> None:
    assert set(TUNED) <= {setting for signal in SIGNALS for setting in signal.weights}
    assert all(value not in values for value, values in ((SETTINGS[setting], TUNED[setting]) for setting in TUNED))
    assert HISTORY_SETTINGS == ("channels.history", "history", "touched", "recency")
    assert channel_names() == ["names", "classes", "central", "clauses", "history", "documents"]
    assert {signal.name for signal in SIGNALS if signal.is_feature} <= set(FEATURES)


def _arrays(ranking: Ranking) -> dict[str, bytes]:
    stages = {
        "factor": ranking.factors,
        "addition": ranking.additions,
        "part": ranking.parts,
        "multiplier": ranking.multipliers,
        "": {"scores": ranking.scores, "direct": ranking.direct, "visits": ranking.walk.visits},
    }
    return {name: values.tobytes() for name, values in flatten(stages).items()}


@pytest.mark.parametrize("base", ["default", "hand-tuned"])
def test_shared_evidence_gives_the_ranking_of_a_fresh_engine_whatever_setting_is_changed(
    shop: Repository, base: str
) -> None:
    index = shop.open()
    learned = Learned({1: 1.0}, {2: 0.5}, (Association(3, 0.8, ("price",)),))
    shared = Engine(index, PROFILES[base])
    for task in TASKS:
        query = shared.read(task, learned)
        shared.score(query)  # everything this profile needs is cached
        for setting in SETTINGS:
            profile = dataclasses.replace(PROFILES[base], **{setting: getattr(_changed(setting), setting)})
            varied, fresh = shared.varied(profile), Engine(index, profile)
            assert _arrays(varied.score(query)) == _arrays(fresh.rank(task, learned)), (setting, task)
    index.close()


def test_profiles_that_share_evidence_describe_items_once(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    index = shop.open()
    (shop.home.folder / item_words.NAME).unlink()
    described: list[int] = []
    descriptions_of = Index.descriptions_of

    def recorded(self: Index, numbers: Sequence[int], characters: int) -> dict[int, tuple[str, str]]:
        described.extend(numbers)
        return descriptions_of(self, numbers, characters)

    monkeypatch.setattr(Index, "descriptions_of", recorded)
    engine = Engine(index, Profile())
    query = engine.read(TASKS[0])
    for weight in (1.0, 0.5, 0.1):
        engine.varied(Profile(test_weight=weight)).score(query)
    assert len(described) == len(set(described)) > 0
    index.close()


def test_settings_that_evidence_depends_on_are_never_shared() -> None:
    assert all(can_share_evidence(Profile(), _changed(setting)) for setting in {*SETTINGS} - {*EVIDENCE_SETTINGS})
    assert not any(can_share_evidence(Profile(), _changed(setting)) for setting in EVIDENCE_SETTINGS)


def test_a_query_read_under_a_profile_that_reads_otherwise_is_read_again(shop: Repository) -> None:
    index = shop.open()
    plain, decayed = Engine(index, Profile()), Engine(index, Profile(clause_decay=0.1))
    assert _arrays(decayed.score(plain.read(TASKS[0]))) == _arrays(decayed.rank(TASKS[0]))
    assert _arrays(plain.rank(TASKS[0])) != _arrays(decayed.rank(TASKS[0]))
    index.close()


def test_every_feature_belongs_to_a_component_that_is_shown() -> None:
    assert {feature.component for feature in FEATURES.values()} <= set(COMPONENTS)
