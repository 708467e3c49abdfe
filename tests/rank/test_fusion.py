"""Reciprocal rank fusion and its invariants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rank.signals.fusion import Channel, fused_scores

channels = st.dictionaries(
    st.sampled_from("abcde"),
    st.builds(
        Channel,
        st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.5, 2.0]),
        st.lists(st.integers(1, 12), unique=True, max_size=8),
    ),
)


def test_the_formula_with_ranks_from_zero() -> None:
    fused = fused_scores({"names": Channel(2.0, [7, 8]), "words": Channel(1.5, [8])})
    assert fused == pytest.approx({8: 2.0 / 62 + 1.5 / 61, 7: 2.0 / 61})


def test_an_item_repeated_in_a_channel_counts_once() -> None:
    assert fused_scores({"a": Channel(1.0, [1, 1, 2, 1])}) == fused_scores({"a": Channel(1.0, [1, 2])})


def test_agreement_beats_one_first_place() -> None:
    fused = fused_scores({"a": Channel(1.0, [1, 2]), "b": Channel(1.0, [3, 2])})
    assert max(fused, key=fused.__getitem__) == 2


@given(channels)
def test_the_order_of_the_channels_does_not_matter(given_channels: dict[str, Channel]) -> None:
    assert fused_scores(given_channels) == fused_scores(dict(reversed(given_channels.items())))


@given(channels)
def test_a_channel_without_weight_is_as_if_absent(given_channels: dict[str, Channel]) -> None:
    present = {name: channel for name, channel in given_channels.items() if channel.weight}
    assert fused_scores(given_channels) == fused_scores(present)


@given(channels, st.sampled_from([0.5, 1.0]), st.lists(st.integers(1, 12), unique=True, min_size=1, max_size=8))
def test_one_more_channel_never_lowers_a_score_and_raises_those_in_it(
    given_channels: dict[str, Channel], weight: float, items: list[int]
) -> None:
    before = fused_scores(given_channels)
    after = fused_scores({**given_channels, "more": Channel(weight, items)})
    assert all(after[number] == score for number, score in before.items() if number not in items)
    assert all(after[number] > before.get(number, 0.0) for number in items)
