"""Rerankers: lexical features of a passage, servers of the Jina and Cohere APIs, and errors that name a remedy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.search.embed import Candidate, reranker
from assay.search.embed.rerankers import WEIGHTS, Features, ServerReranker, order
from support.model_server import ModelServer, Reply, run_model_server

WORDS = st.lists(st.sampled_from(["ship", "boat", "harbour", "bread", "oven", "the", "of"]), max_size=8).map(" ".join)
CANDIDATES = st.lists(st.builds(Candidate, WORDS, WORDS, st.floats(0, 10)), max_size=6)


def signs(query: str, *texts: str | Candidate) -> list[dict[str, float]]:
    return Features().features(query, [text if isinstance(text, Candidate) else Candidate(text) for text in texts])


@given(WORDS, CANDIDATES)
def test_every_sign_is_a_share_and_has_a_weight(query: str, candidates: list[Candidate]) -> None:
    for row in Features().features(query, candidates):
        assert row.keys() == WEIGHTS.keys()
        assert all(0 <= sign <= 1 for sign in row.values())


@given(WORDS, CANDIDATES)
def test_a_score_does_not_depend_on_the_order_of_the_candidates(query: str, candidates: list[Candidate]) -> None:
    scores = Features().scores(query, candidates).tolist()
    assert Features().scores(query, candidates[::-1]).tolist() == scores[::-1]


def test_rare_words_count_for_more_than_common_ones() -> None:
    rare, common, *_ = signs("harbour ship", "harbour", "ship", "ship", "ship", "ship")
    assert rare["coverage"] > common["coverage"]
    given_rarity = Features(lambda term: 5.0 if term == "ship" else 1.0)
    rare, common = given_rarity.features("harbour ship", [Candidate("harbour"), Candidate("ship")])
    assert common["coverage"] == pytest.approx(5 / 6)
    assert rare["coverage"] == pytest.approx(1 / 6)


def test_words_close_together_and_in_order_count_for_more() -> None:
    together, turned, apart = signs(
        "fast ship", "a fast ship", "a ship so fast", "fast and so on and on and on, the ship"
    )
    assert together["proximity"] > turned["proximity"] > apart["proximity"] > 0
    assert (together["pairs"], turned["pairs"], apart["pairs"]) == (1, 0, 0)
    assert (together["phrase"], turned["phrase"], apart["phrase"]) == (1, 0, 0)


def test_a_phrase_ends_where_words_end_and_is_more_than_one_word() -> None:
    assert [row["phrase"] for row in signs("old ship", "an old ship", "bold ship", "old shipyard")] == [1, 0, 0]
    assert signs("ship", "ship")[0]["phrase"] == 0


def test_the_title_counts_beside_the_text() -> None:
    titled, plain = Features().scores("ship", [Candidate("about", "The ship"), Candidate("about")])
    assert titled > plain


def test_the_score_so_far_decides_between_equals() -> None:
    scores = Features().scores("ship", [Candidate("ship", score=1.0), Candidate("ship", score=2.0)])
    assert order(scores) == [1, 0]


@pytest.mark.parametrize(("query", "texts"), [("", ["ship"]), ("ship", []), ("ship", [""]), ("?!", ["?!"])])
def test_nothing_to_go_by_is_no_error(query: str, texts: list[str]) -> None:
    assert len(Features().scores(query, [Candidate(text) for text in texts])) == len(texts)


@pytest.mark.parametrize("spec", ["", "feature", "features:x", "rerank:", "folder:nowhere"])
def test_a_spec_that_names_nothing_is_a_clear_error(spec: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError):
        reranker(spec, root=tmp_path)


# servers


def by_length(path: str, body: dict[str, Any]) -> Any:
    rows = [{"index": place, "relevance_score": len(text)} for place, text in enumerate(body["documents"])]
    return {"results": sorted(rows, key=lambda row: -row["relevance_score"])}


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with run_model_server(by_length) as running:
        yield running


def client(running: ModelServer) -> ServerReranker:
    made = ServerReranker(f"{running.url}#judge")
    made.server = dataclasses.replace(made.server, sleep=lambda seconds: None)
    return made


def test_a_server_judges_all_candidates_in_one_request(model_server: ModelServer) -> None:
    scores = client(model_server).scores("ship", [Candidate("long text", "title"), Candidate("x"), Candidate("xyz")])
    assert scores.tolist() == [15, 1, 3]
    assert order(scores) == [0, 2, 1]
    assert model_server.paths == ["/v1/rerank"]
    assert model_server.asked[0]["model"] == "judge"
    assert model_server.asked[0]["documents"][0] == "title\nlong text"


def test_no_candidates_ask_nobody(model_server: ModelServer) -> None:
    assert client(model_server).scores("ship", []).tolist() == []
    assert model_server.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"junk",
        [],
        {"results": []},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": -1, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": None}]},
        {"results": ["a", "b"]},
    ],
)
def test_an_answer_that_is_none_is_a_clear_error(model_server: ModelServer, body: Any) -> None:
    model_server.script = [Reply(body)]
    with pytest.raises(AssayError, match=r"not JSON|not a /v1/rerank response"):
        client(model_server).scores("ship", [Candidate("a"), Candidate("b")])


def test_a_busy_server_is_waited_for(model_server: ModelServer) -> None:
    model_server.script = [Reply(status=429), Reply(status=503)]
    assert client(model_server).scores("ship", [Candidate("a")]).tolist() == [1]
