"""Merged ranking: contributions and probabilities of the linear model, its features, and the spread over files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay as package
from assay.api import Repository as Opened
from assay.errors import AssayError
from assay.search import merge
from assay.search.code_ranker import CodeCandidates
from assay.search.filters import Filters
from assay.search.hits import Scored, SearchHit, SearchResults
from assay.search.intent import intent
from support.command import assay
from support.repository import Repository

MODEL = merge.read_model(
    {
        "format": merge.FORMAT,
        "slope": 0.5,
        "offset": -1.0,
        "passage": {"base": 0.25, "features": {"blend": [0.4, 2.0], "query length": [0.5, -1.0]}},
        "code": {"base": 0.0, "features": {"engine": [0.3, 3.0], "query length": [0.5, 1.0]}},
    }
)


@pytest.fixture
def station(repository: Repository) -> Repository:
    repository.write("src/pumps.py", 'def start_pumps(station):\n    """Starts the pumps."""\n    station.start()\n')
    repository.write("docs/guide.md", "# Starting\n\nPumps must be started before any valve is opened.\n")
    repository.index()
    return repository


@pytest.fixture
def opened(station: Repository) -> Iterator[Opened]:
    with package.open(station.root) as repo:
        yield repo


def _candidates(*engine: float) -> CodeCandidates:
    numbers = np.arange(len(engine), dtype=np.int64)
    return CodeCandidates(numbers, np.full(len(engine), 1.5), {"engine": np.array(engine)})


# scores


def test_contributions_add_up_to_the_log_odds_behind_the_score(opened: Opened) -> None:
    model = merge.shipped()
    hits = opened.search("when are the pumps started?")
    assert {hit.kind for hit in hits} >= {"passage", "function"}
    for hit in hits:
        group = merge.PASSAGE if hit.kind == "passage" else merge.CODE
        odds = model.slope * (sum(hit.contributions.values()) + model.base[group]) + model.offset
        assert math.log(hit.score / (1 - hit.score)) == pytest.approx(odds)


def test_a_score_is_the_probability_by_the_model() -> None:
    wording = {"length": 1.5}
    passage = Scored(0, 0.9, 2.0, 0.7)
    code, found = merge.scored(MODEL, wording, [passage], {"blend": np.array([0.9])}, _candidates(0.8), 10)
    assert found.contributions == pytest.approx({"blend": 1.0, "query length": -1.0})
    assert found.score == pytest.approx(1 / (1 + math.exp(-(0.5 * 0.25 - 1.0))))
    assert (found.number, found.lexical, found.vector) == (0, 2.0, 0.7)
    assert code.contributions == pytest.approx({"engine": 1.5, "query length": 1.0})
    assert code.score == pytest.approx(1 / (1 + math.exp(-(0.5 * 2.5 - 1.0))))
    assert (code.number, code.lexical) == (10, 1.5), "items are numbered after the passages"


def test_a_model_of_another_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(AssayError, match="format 0, not 1"):
        merge.read_model({"format": 0})


def test_contributions_are_a_mapping_by_feature() -> None:
    amounts = merge.Contributions(("blend", "path"), np.array([0.5, -1.0]))
    assert (dict(amounts), len(amounts), amounts["path"]) == ({"blend": 0.5, "path": -1.0}, 2, -1.0)
    assert amounts == {"path": -1.0, "blend": 0.5}
    with pytest.raises(KeyError):
        amounts["engine"]


def test_a_missing_feature_contributes_nothing() -> None:
    (found,) = merge.scored(MODEL, {}, [Scored(0, 0.9, 2.0)], {}, None, 1)
    assert found.contributions == {"blend": 0.0, "query length": 0.0}
    assert found.score == pytest.approx(1 / (1 + math.exp(-(0.5 * 0.25 - 1.0))))


def test_candidates_come_best_first_and_ties_keep_their_order() -> None:
    found = merge.scored(MODEL, {"length": 0.5}, [], {}, _candidates(0.1, 0.9, 0.5, 0.9), 0)
    assert [one.number for one in found] == [1, 3, 2, 0]


def test_without_candidates_there_is_no_ranking() -> None:
    assert merge.scored(MODEL, {"length": 1.0}, [], {}, None, 0) == []


def test_long_passages_are_no_better_for_being_long() -> None:
    hits = [_hit("a.md", (), text) for text in ("x" * 20, "x" * 300, "x" * 900)]
    short, enough, long = merge.passage_features(hits, [1, 1, 1], (), {}, np.zeros(3), "x")["length, if short"]
    assert short < enough == long


def test_the_shipped_model_has_every_feature_that_is_computed_and_no_other(opened: Opened) -> None:
    search, query = opened.searcher(), "start the pumps"
    mask = search.allowed(query, Filters())
    first = len(search.passages)
    similar = search.similar_words(query)
    _, passages = search.passage_candidates(query, 10, mask[:first], similar)
    code = search.code_ranker.candidates(query, mask[first:], similar).features
    wording = {f"query {name}" for name in intent(query)}
    groups = merge.shipped().groups
    assert set(groups[merge.PASSAGE].names) == {*passages, *wording}
    assert set(groups[merge.CODE].names) == {*code, *wording}


def _hit(path: str, headings: tuple[str, ...], text: str, lexical: float = 0.0, vector: float = nan) -> SearchHit:
    return SearchHit(
        path, "passage", path, "markdown", 1, 1, 0, headings, "", 0.5, lexical, vector, text, path, frozenset()
    )


def test_features_of_passages_say_what_their_names_say() -> None:
    hits = [
        _hit("docs/CHANGELOG.md", ("Pumps",), "A valve.", 2.0, 0.5),
        _hit("README.md", (), "Pumps and valves.", 1.0),
        _hit("docs/valve.md", ("Other",), "Nothing.", 0.0, 0.1),
    ]
    idf: dict[tuple[str, ...], float] = {("pump",): 3.0, ("valv",): 1.0}
    values = merge.passage_features(
        hits, [1.0, 0.5, 0.2], [], idf, np.array([0.25, 1.0, 0.0]), "how many valves has a pump"
    )
    told = {name: column.tolist() for name, column in values.items()}
    assert told == {
        "reranker": [1.0, 0.5, 0.2],
        "blend": [1.0, 0.5, 0.2],
        "lexical": [0.5, 0.25, 0.0],
        "reciprocal rank": [1.0, 0.5, 1 / 3],
        "heading": [0.75, 0.0, 0.0],
        "coverage": [0.25, 1.0, 0.0],
        "path": [0.0, 0.0, 0.25],
        "list of changes": [1.0, 0.0, 0.0],
        "test": [0.0, 0.0, 0.0],
        "readme": [0.0, 1.0, 0.0],
        "news": [0.0, 0.0, 0.0],
        "manual": [1.0, 0.0, 1.0],
        "innermost heading, precision": [1.0, 0.0, 0.0],
        "length, if short": [math.log(9), math.log(18), math.log(9)],
        "number, if asked for an amount": [0.0, 0.0, 0.0],
        "default, if asked for an amount": [0.0, 0.0, 0.0],
        "code, if asked how": [0.0, 0.0, 0.0],
    }
    reranked = merge.passage_features(hits, [1.0, 0.5, 0.2], [0.3, 0.2, 0.1], {("pump",): 3.0}, np.zeros(3), "pumps")
    assert reranked["reranker"].tolist() == [0.3, 0.2, 0.1]


# spread over files


def test_further_hits_of_a_file_come_after_two_of_every_file() -> None:
    paths = dict(enumerate(["a", "a", "a", "b", "a", "c", "b", "b"]))
    ranking = [Scored(number, 1 - number / 10, 0.0) for number in paths]
    assert [one.number for one in merge.spread(ranking, paths)] == [0, 1, 3, 5, 6, 2, 4, 7]
    assert [one.number for one in merge.spread(ranking, paths, by_file=True)] == [0, 3, 5]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_spreading_keeps_every_hit_and_the_order_within_and_between_files(files: list[str]) -> None:
    paths = dict(enumerate(files))
    spread = [one.number for one in merge.spread([Scored(number, 0.5, 0.0) for number in paths], paths)]
    assert sorted(spread) == list(paths)
    places = {number: place for place, number in enumerate(spread)}
    rank_in_file = {number: files[:number].count(path) for number, path in paths.items()}
    for one in paths:
        for other in range(one + 1, len(files)):
            stays = rank_in_file[one] < 2 or rank_in_file[other] >= 2
            assert (places[one] < places[other]) == stays


def _order(passages: int, *scores: float, paths: str = "") -> list[int]:
    """Return the order of candidates with these scores; the first `passages` of them are passages."""
    ranking = sorted((Scored(number, score, 0.0) for number, score in enumerate(scores)), key=lambda one: -one.score)
    names = dict(enumerate(paths or map(str, range(len(scores)))))
    return [one.number for one in merge.spread(ranking, names, passages=passages)]


def test_likely_passages_stand_among_the_first_five_where_code_fills_them() -> None:
    assert _order(2, 0.5, 0.4, 0.9, 0.8, 0.7, 0.65, 0.6) == [2, 3, 4, 5, 6, 0, 1], "odds of 1 against 9: unlikely"
    assert _order(2, 0.5, 0.3, 0.7, 0.65, 0.6, 0.58, 0.55) == [2, 3, 4, 5, 0, 6, 1], "one is likely enough"
    assert _order(3, 0.5, 0.45, 0.44, 0.7, 0.65, 0.6, 0.58, 0.55, 0.2) == [3, 4, 5, 0, 1, 6, 7, 2, 8]
    assert _order(3, 0.69, 0.5, 0.45, 0.7, 0.65, 0.6, 0.58) == [3, 0, 4, 5, 1, 6, 2], "one stands there already"


def test_a_ranking_with_two_passages_in_front_or_of_one_kind_stays_as_it_is() -> None:
    assert _order(2, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3) == [*range(7)]
    assert _order(0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3) == [*range(7)]
    assert _order(1, 0.1, 0.2) == [1, 0]
    assert _order(0) == []


def test_no_third_passage_of_a_file_is_moved_up() -> None:
    assert _order(3, 0.65, 0.45, 0.44, 0.7, 0.66, 0.62, 0.61, 0.6, paths="aaabcdef") == [3, 4, 0, 5, 1, 6, 7, 2]


@given(
    st.lists(st.floats(0.0, 1.0), max_size=12),
    st.integers(0, 12),
    st.lists(st.sampled_from("abc"), min_size=12, max_size=12),
)
def test_moving_passages_keeps_every_hit_the_first_and_the_order_within_a_kind(
    scores: list[float], passages: int, files: list[str]
) -> None:
    plain = merge.spread(
        ranking := sorted(
            (Scored(number, score, 0.0) for number, score in enumerate(scores)), key=lambda one: -one.score
        ),
        paths := dict(enumerate(files)),
    )
    moved = merge.spread(ranking, paths, passages=passages)
    assert sorted(moved) == sorted(plain)
    assert moved[:1] == plain[:1]
    for is_passage in (True, False):
        kinds = [[one for one in order if (one.number < passages) == is_passage] for order in (plain, moved)]
        assert kinds[0] == kinds[1]
    assert sum(one.number < passages for one in moved[:5]) >= sum(one.number < passages for one in plain[:5])


def test_a_search_by_file_has_the_best_hit_of_each(opened: Opened, station: Repository) -> None:
    hits, files = opened.search("start pumps valve"), opened.search("start pumps valve", by_file=True)
    assert [hit.id for hit in files] == [hit.id for hit in SearchResults(hits).by_file()]
    assert len(files) == len({hit.path for hit in files}) == 2
    printed = assay(station.root, "search", "start pumps valve", "--by", "file", "--format", "json").json["results"]
    assert [one["path"] for one in printed] == [hit.path for hit in files]


# explained


def test_the_command_explains_scores_by_their_largest_contributions(opened: Opened, station: Repository) -> None:
    first = opened.search("start the pumps")[0]
    largest = max(first.contributions.items(), key=lambda pair: abs(pair[1]))
    done = assay(station.root, "search", "start the pumps", "--explain")
    line = next(line for line in done.lines if line.strip().startswith("score "))
    assert line.strip().startswith(f"score {first.score:.3f}: {largest[1]:+.2f} {largest[0]}, ")
    assert len(line.split(", ")) >= 6
    assert "score 0." not in assay(station.root, "search", "start the pumps").out
