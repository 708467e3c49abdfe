"""Usual frequency of terms, and the ratio of an index to it."""

from __future__ import annotations

import numpy as np
import pytest

from assay.rank.background import background, ratios
from support.repository import Repository


def _ratios(repository: Repository, terms: list[str]) -> dict[str, tuple[float, float]]:
    index = repository.open()
    rows = ratios(background().usual(terms), index.postings, terms)
    index.close()
    return {term: (float(anywhere), float(named)) for term, (anywhere, named) in zip(terms, rows, strict=True)}


def test_common_terms_are_usual_and_unknown_ones_are_not() -> None:
    shares = dict(zip(("name", "kubernet", "zzyzx"), background().usual(["name", "kubernet", "zzyzx"]), strict=True))
    assert shares["name"][0] > shares["kubernet"][0]
    assert shares["zzyzx"].tolist() == [0.0, 0.0]
    assert 0 < shares["name"][1] <= shares["name"][0] < 1, "a name is a part of the text"


def test_no_share_of_the_table_exceeds_one() -> None:
    assert background().shares.max() <= 1.0
    assert np.all(background().terms[1:] > background().terms[:-1])


def test_what_a_repository_is_about_stands_out_and_what_it_lacks_does_not(repository: Repository) -> None:
    functions = "".join(f"def sail_{number}(boat):\n    return hoist(boat, {number})\n\n\n" for number in range(400))
    repository.write("harbour.py", functions)
    repository.commit()
    repository.index()
    found = _ratios(repository, ["sail", "boat", "name"])
    assert min(found["sail"]) > 1
    assert found["boat"][0] > 1 > found["boat"][1]
    assert max(found["name"]) < 0


def test_a_small_repository_says_little(repository: Repository) -> None:
    repository.write("one.py", "def alone():\n    pass\n")
    repository.commit()
    repository.index()
    assert _ratios(repository, ["name"])["name"][0] == pytest.approx(0.0, abs=0.05)
