"""Reciprocal rank fusion and its invariants."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rank.signals.fusion import Channel, fuse, fused_scores

channels = st.dictionaries(
    st.sampled_from("abcde"),
    st.builds(
        Channel,
        st.sampled_from([0.0, 0.3, 0.7, 1.0, 1.5, 2.0]),
        st.lists(st.integers(1, 12), unique=True, max_size=8),
    ),
)


def test_the_formula_with_ranks_from_zero() -> None:
    fused = fuse({"names": Channel(2.0, [7, 8]), "words": Channel(1.5, [8])})
    assert [number for number, _ in fused] == [8, 7]
    assert [score for _, score in fused] == pytest.approx([2.0 / 62 + 1.5 / 61, 2.0 / 61])


def test_an_item_repeated_in_a_channel_counts_once() -> None:
    assert fuse({"a": Channel(1.0, [1, 1, 2, 1])}) == fuse({"a": Channel(1.0, [1, 2])})


def test_agreement_beats_one_first_place() -> None:
    assert fuse({"a": Channel(1.0, [1, 2]), "b": Channel(1.0, [3, 2])})[0][0] == 2


def test_equal_scores_are_ordered_by_number_and_the_limit_cuts_the_tail() -> None:
    both = {"a": Channel(1.0, [9]), "b": Channel(1.0, [4])}
    assert [number for number, _ in fuse(both)] == [4, 9]
    assert [number for number, _ in fuse(both, limit=1)] == [4]
    assert fuse({}) == []


@given(channels)
def test_the_order_of_the_channels_does_not_matter(given_channels: dict[str, Channel]) -> None:
    assert fuse(given_channels) == fuse(dict(reversed(given_channels.items())))


@given(channels)
def test_the_scores_alone_are_those_of_the_fused_items(given_channels: dict[str, Channel]) -> None:
    assert fused_scores(given_channels) == dict(fuse(given_channels))


@given(channels)
def test_a_channel_without_weight_is_as_if_absent(given_channels: dict[str, Channel]) -> None:
    present = {name: channel for name, channel in given_channels.items() if channel.weight}
    assert fuse(given_channels) == fuse(present)


@given(channels, st.sampled_from([0.5, 1.0]), st.lists(st.integers(1, 12), unique=True, min_size=1, max_size=8))
def test_one_more_channel_never_lowers_a_score_and_raises_those_in_it(
    given_channels: dict[str, Channel], weight: float, items: list[int]
) -> None:
    before = fused_scores(given_channels)
    after = fused_scores({**given_channels, "more": Channel(weight, items)})
    assert all(after[number] == score for number, score in before.items() if number not in items)
    assert all(after[number] > before.get(number, 0.0) for number in items)


@given(channels)
def test_everything_comes_once_and_best_first(given_channels: dict[str, Channel]) -> None:
    fused = fuse(given_channels)
    numbers = [number for number, _ in fused]
    assert sorted(numbers) == sorted(
        {n for channel in given_channels.values() if channel.weight for n in channel.items}
    )
    assert all(before >= after for (_, before), (_, after) in pairwise(fused))


@given(st.lists(st.integers(), unique=True, max_size=20), st.floats(0.1, 10))
def test_one_channel_alone_keeps_its_order(items: list[int], weight: float) -> None:
    assert [number for number, _ in fuse({"only": Channel(weight, items)})] == items
