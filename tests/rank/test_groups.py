"""Evidence of files, folders and containers as whole texts."""

from __future__ import annotations

import numpy as np
import pytest

from assay.rank.engine import Engine
from assay.rank.groups import GroupEvidence, Groups, Matches
from assay.rank.profile import Profile
from support.repository import Repository


def test_sums_by_term_and_group_are_those_of_every_membership() -> None:
    chance = np.random.default_rng(7)
    parent, candidates = chance.integers(0, 50, 50), np.array([3, 9, 3, 20])
    groups = Groups([None, parent], candidates, np.ones(50))
    terms = [(chance.integers(0, 50, size), chance.random(size)) for size in (200, 0, 30)]
    sums = groups.sums(Matches(terms))[:, groups.slots(candidates)]
    for row, (items, values) in zip(sums, terms, strict=True):
        expected = [values[items == group].sum() + values[parent[items] == group].sum() for group in candidates]
        assert row.tolist() == pytest.approx(expected)


def test_words_that_are_spread_over_a_class_cover_the_task_together(repository: Repository) -> None:
    repository.write(
        "shop/basket.py",
        "class Basket:\n    def discount(self):\n        return 1\n\n    def shipping(self):\n        return 2\n",
    )
    repository.write("shop/other.py", "def discount_table():\n    return 3\n")
    repository.index()
    index = repository.open()
    query = Engine(index, Profile()).read("discount on shipping")
    items = {item.symbol: item.number for item in index.items("s.ordinal >= 0")}
    names = ["Basket", "Basket.discount", "discount_table"]
    evidence = GroupEvidence(query, np.array([items[name] for name in names]))
    index.close()
    assert evidence.family.coverage.tolist()[0] == pytest.approx(1)
    assert evidence.container.coverage[1] == pytest.approx(1)  # its class; of a class it is the file
    assert evidence.family.coverage[1] < 1
    assert evidence.file.coverage[0] == pytest.approx(1)
    assert evidence.file.coverage[2] < 1
    assert evidence.file.lexical[0] == 0 > evidence.file.lexical[2]  # log share of the best
    assert evidence.folder.lexical.tolist() == [0, 0, 0]
    assert evidence.container.lexical[1] == 0 > evidence.container.lexical[2]
