"""benchmarks/paraphrase.py and its pairs of paraphrases."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from support.paths import ROOT
from support.repository import Repository


@pytest.fixture
def paraphrase(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import paraphrase

    return paraphrase


def test_the_pairs_are_many_of_several_kinds_and_all_different(paraphrase: Any) -> None:
    pairs = paraphrase.read(ROOT / "eval" / "paraphrases.yaml")
    assert len(pairs) >= 30
    assert min(Counter(pair.kind for pair in pairs).values()) >= 5
    texts = [text.lower() for pair in pairs for text in (pair.one, pair.other)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("text", ["", "a: b", "- one", "- {kind: x, one: y}", "- {kind: x, one: y, other: ' '}"])
def test_what_is_not_a_pair_is_refused(paraphrase: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "pairs.yaml"
    path.write_text(text)
    with pytest.raises(AssayError, match=r"pairs\.yaml"):
        paraphrase.read(path)


@pytest.mark.parametrize(
    ("one", "other", "expected"), [({1, 2}, {2, 1}, 1.0), ({1}, {2}, 0.0), ({1, 2}, {2, 3}, 1 / 3), (set(), set(), 1.0)]
)
def test_answers_are_as_alike_as_the_share_of_all_that_both_have(
    paraphrase: Any, one: set[int], other: set[int], expected: float
) -> None:
    assert paraphrase.jaccard(one, other) == expected


def test_it_reports_each_kind_and_all_together(
    paraphrase: Any, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.write("shop.py", "def total_price():\n    pass\n")
    repository.write("post.py", "def send_mail():\n    pass\n")
    repository.write(
        "pairs.yaml",
        "- {kind: same, one: total price, other: price total}\n- {kind: apart, one: total price, other: send mail}\n",
    )
    result = repository.root / "result.json"
    paraphrase.main(
        ["--root", str(repository.root), "--pairs", str(repository.root / "pairs.yaml"), "--json", str(result)]
    )
    shown = capsys.readouterr().out
    assert "| same | 1 | 1.00 | 1.00 | price total |" in shown
    assert "| apart | 1 | 0.00 | 0.00 | send mail |" in shown
    assert "| **all** | 2 | 0.50 | 0.00 | send mail |" in shown
    assert [row["jaccard"] for row in json.loads(result.read_text())] == [1.0, 0.0]
