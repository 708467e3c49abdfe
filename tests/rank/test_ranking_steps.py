"""Ranking steps in isolation: order, HITS, seeds, scoring, channels, reading."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.packs import Association, Learned
from assay.rank import graph as hits
from assay.rank.arrays import Floats, highest, share_of_best
from assay.rank.engine import Engine, open_engine
from assay.rank.profile import PROFILES, Profile
from assay.rank.query import parse_task
from assay.rank.ranking import Ranking, WalkResult
from assay.rank.signals import walk as seeds
from assay.rank.signals.classes import EquivalenceClass
from assay.rank.signals.fusion import fused_scores
from assay.rank.signals.signal import Stage
from assay.rank.signals.table import BY_STAGE
from assay.text.tokens import LONGEST_TASK
from support.command import assay
from support.repository import Repository
from support.sample_code import OPERATIONS, STORE

# -- order -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]), max_size=40), st.integers(0, 50))
def test_the_highest_are_those_a_full_sort_would_give(values: list[float], k: int) -> None:
    wanted = [place for place in sorted(range(len(values)), key=lambda place: (-values[place], place)) if values[place]]
    assert highest(np.array(values), k).tolist() == wanted[:k]


@given(st.integers(2, 1000), st.integers(200, 500), st.integers(1, 9), st.integers(0, 2**32))
def test_the_highest_of_many_are_those_a_full_sort_would_give(different: int, size: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, different, size) / 7
    wanted = [place for place in sorted(range(size), key=lambda place: (-values[place], place)) if values[place]]
    assert highest(values, k).tolist() == wanted[:k]


def test_shares_are_of_the_best_and_nothing_stays_nothing() -> None:
    assert share_of_best(np.array([1.0, 4.0])).tolist() == [0.25, 1.0]
    assert share_of_best(np.zeros(2)).tolist() == [0.0, 0.0]


# -- HITS --------------------------------------------------------------------------------------------------------------


def test_what_hubs_point_to_is_an_authority() -> None:
    authority, hub = hits.authorities_and_hubs(np.array([0, 1, 0]), np.array([2, 2, 3]), 4)
    assert authority[2] > authority[3] > authority[0] == authority[1] == 0
    assert hub[0] > hub[1] > hub[2] == 0
    assert np.linalg.norm(authority) == pytest.approx(1.0)


def test_no_edges_no_authorities() -> None:
    none = np.empty(0, np.int64)
    authority, hub = hits.authorities_and_hubs(none, none, 3)
    assert not authority.any()
    assert not hub.any()


def test_seeds_gain_by_authority_and_hub_and_infrastructure_loses() -> None:
    authority, hub = np.array([0.4, 0.4, 0.04, 0.1]), np.array([0.2, 0.9, 0.09, 0.0])
    is_seed = np.array([True, False, True, False])
    added = hits.adjustment(authority, hub, is_seed)
    assert added == pytest.approx([0.4 * 0.25 + 0.2 * 0.10, -0.4 * 0.15, 0.0, 0.0])


# -- seeds -------------------------------------------------------------------------------------------------------------


def test_a_better_item_is_a_likelier_start_by_its_square() -> None:
    assert seeds.from_scores(np.array([0, 3.0, 1.0, 2.0]), np.array([1, 3])).tolist() == [0, 9.0, 0, 4.0]


# -- scoring -----------------------------------------------------------------------------------------------------------


def _parts(walk: WalkResult, profile: Profile, direct: Floats) -> dict[str, Floats]:
    """The parts of the score that a profile makes of direct scores and a walk."""
    ones = np.ones(len(direct))
    ranking = Ranking("", {}, {}, ones, direct, direct, walk, factors={"kind": ones, "tests": ones})
    query: Any = SimpleNamespace(
        profile=profile,
        items=SimpleNamespace(size=len(direct), not_retrieved=[]),
        learned=Learned(),
    )
    signals = [signal for signal in BY_STAGE[Stage.PART].values() if signal.is_on(profile) and signal.score]
    parts = {signal.name: signal.score(query, ranking) for signal in signals if signal.score}
    return {name: values for name, values in parts.items() if values is not None}


def test_the_shares_add_up() -> None:
    walked = WalkResult(np.array([0.1, 0.2]), np.array([1.0, 0]), np.array([0.1, -0.1]))
    direct = np.array([4.0, 1.0])
    parts = _parts(walked, Profile(walk=0.5, hits=1.0, proposed=0), direct)
    assert sum(parts.values(), np.zeros(2)).tolist() == pytest.approx([1.0 + 0.25 + 0.1, 0.25 + 0.5 - 0.1])
    assert set(_parts(walked, Profile(walk=0.5, hits=0.0, proposed=0), direct)) == {"direct", "walk"}


# -- a repository to ask -----------------------------------------------------------------------------------------------


@pytest.fixture
def tables(repository: Repository) -> Repository:
    repository.write("app/migrations/operations.py", OPERATIONS)
    repository.write("app/store.py", STORE)
    repository.commit()
    repository.index()
    return repository


def _symbols(tables: Repository, numbers: list[int]) -> list[str]:
    index = tables.open()
    items = index.numbered(numbers)
    index.close()
    return [items[number].symbol for number in numbers]


# -- channels ----------------------------------------------------------------------------------------------------------


def _lists(
    tables: Repository, task: str, weights: dict[str, float], classes: Sequence[EquivalenceClass] = ()
) -> dict[str, list[str]]:
    index = tables.open()
    channels = Engine(index, Profile(channels=weights), classes).rank(task).channels
    found = {name: list(channel.items) for name, channel in channels.items() if channel.weight}
    index.close()
    return {name: _symbols(tables, numbers) for name, numbers in found.items()}


def test_a_channel_without_weight_is_not_asked(tables: Repository) -> None:
    assert set(_lists(tables, "encode rows", {"names": 1.0, "classes": 0.0})) == {"names"}


def test_names_that_are_called_by_what_the_task_speaks_of_are_found_through_the_graph(tables: Repository) -> None:
    # `encode` is called by `Store.save`: "save" becomes a phrase for it
    found = _lists(tables, "save: `encode`", {"names": 1.0, "classes": 1.0})
    assert "encode" in found["classes"]


def test_a_class_of_the_project_is_a_channel_and_a_sure_one_is_pointed_at(tables: Repository) -> None:
    own = EquivalenceClass("PERSISTENCE", ("keep things", "durable"), ("Store",), weight=1.0)
    assert _lists(tables, "how to keep things: encode", {"names": 1.0, "classes": 1.0}, classes=(own,))["classes"] == [
        "Store"
    ]
    index = tables.open()
    with_class = Engine(index, Profile(), classes=(own,)).ranked("where do we keep things", 3)
    without = Engine(index, Profile()).ranked("where do we keep things", 3)
    one_word = Engine(index, Profile(), classes=(own,)).rank("a durable table")  # a single word is not sure
    index.close()
    assert with_class[0].item.symbol == "Store"
    assert "Store" not in [ranked.item.symbol for ranked in without]
    assert list(one_word.channels["direct_hits"].items) == []


# -- places ------------------------------------------------------------------------------------------------------------


def test_the_place_a_task_points_at_comes_first(tables: Repository) -> None:
    index = tables.open()
    trace = 'Traceback (most recent call last):\n  File "/srv/app/store.py", line 7, in encode\nValueError: bad table'
    found = Engine(index, Profile()).ranked(trace, 3)
    in_file = Engine(index, Profile()).ranked("tables and rows in app/store.py", 3)
    index.close()
    assert found[0].item.symbol == "encode"
    assert {ranked.item.path for ranked in in_file[:2]} == {"app/store.py"}


def test_a_name_that_few_have_and_the_task_writes_out_comes_first(tables: Repository) -> None:
    tables.write("app/noise.py", "".join(f"def table_operation_{n}(table):\n    return table\n\n\n" for n in range(9)))
    tables.commit()
    tables.index()
    index = tables.open()
    ranking = Engine(index, Profile()).rank("table operation: the table of operations is what `encode` breaks")
    first = index.item(ranking.best(1)[0]).symbol
    index.close()
    assert first == "encode"


@pytest.fixture
def doctors(tables: Repository) -> Repository:
    tables.write("app/commands.py", "def table_command(options):\n    return options\n")
    tables.write("tests/test_store.py", "def doctor(table):\n    return table\n\n\ndef test_it():\n    doctor(1)\n")
    tables.commit()
    tables.index()
    return tables


@pytest.mark.parametrize("profile", ["default", "hand-tuned", "change"])
def test_a_test_helper_that_has_the_name_of_what_is_wanted_is_not_first(doctors: Repository, profile: str) -> None:
    index = doctors.open()
    engine = Engine(index, PROFILES[profile])
    wanted = [found.item.symbol for found in engine.ranked("add a `doctor` command that checks the table options", 9)]
    of_tests = [found.item.symbol for found in engine.ranked("speed up the tests: `doctor` is slow", 9)]
    index.close()
    assert wanted[0] == "table_command"
    assert of_tests[0] == "doctor"


def test_a_place_in_test_code_is_pointed_at_whatever_the_task_is_about(doctors: Repository) -> None:
    index = doctors.open()
    trace = 'Traceback (most recent call last):\n  File "tests/test_store.py", line 2, in doctor\nValueError: bad table'
    first = Engine(index, Profile()).ranked(trace, 1)[0].item.symbol
    index.close()
    assert first == "doctor"


def test_test_code_does_not_crowd_out_what_it_shares_a_name_with(doctors: Repository) -> None:
    copies = "".join(f"class Case{n}:\n    def describe(self):\n        return {n}\n\n\n" for n in range(6))
    doctors.write("tests/test_copies.py", copies)
    doctors.commit()
    doctors.index()
    index = doctors.open()
    ranking = Engine(index, Profile()).rank("`describe` a row")
    hits = [index.item(number).id for number in ranking.channels["direct_hits"].items]
    index.close()
    assert hits == ["app/migrations/operations.py::describe"]


def test_the_title_of_a_task_says_whether_it_is_about_tests_and_counts_twice() -> None:
    reading = parse_task("Encode rows\n\nTests were added for the table.", Profile())
    assert not reading.about_tests
    assert reading.terms["encod"] == 2
    assert reading.terms["tabl"] == 1
    assert parse_task("Fix the tests of rows\n\nMore.", Profile()).about_tests


# -- what use has taught -----------------------------------------------------------------------------------------------


def _ranks(tables: Repository, task: str, learned: Learned) -> dict[str, int]:
    index = tables.open()
    found = Engine(index, Profile()).ranked(task, 20, learned)
    index.close()
    return {ranked.item.symbol: rank for rank, ranked in enumerate(found, 1)}


def test_feedback_and_session_add_to_the_score(tables: Repository) -> None:
    index = tables.open()
    [describe] = index.items("s.symbol = 'describe'")
    engine, task = Engine(index, Profile(useful=0.2, not_useful=0.1, session=0.3)), "describe a table"
    cold = engine.rank(task).scores[describe.number]
    learned = (
        Learned(feedback={describe.number: 1.0}),
        Learned(feedback={describe.number: -1.0}),
        Learned(session={describe.number: 0.5}),
    )
    useful, useless, near = (engine.rank(task, each) for each in learned)
    index.close()
    for ranking, share in ((useful, 0.2), (useless, -0.1), (near, 0.5 * 0.3)):
        boosted = cold + share  # relative to the best score, which is 1
        assert ranking.scores[describe.number] == pytest.approx(boosted / max(1.0, boosted) if cold < 1 else 1.0)


def test_learned_words_bring_what_has_no_word_of_the_task(tables: Repository) -> None:
    index = tables.open()
    [store] = index.items("s.symbol = 'Store'")
    index.close()
    task = "apply the rename"
    learned = Learned(vocabulary=(Association(store.number, 0.8, ("rename",)),))
    assert "Store" not in _ranks(tables, task, Learned())
    assert _ranks(tables, task, learned)["Store"] > 1  # proposed, not put in front


def test_learned_words_are_one_list_in_the_fusion_and_nothing_else(tables: Repository) -> None:
    index = tables.open()
    store, describe = (index.items(f"s.symbol = '{name}'")[0].number for name in ("Store", "describe"))
    sure, new = Association(store, 0.8, ("rename",)), Association(describe, 0.3, ("rename",))
    engine = Engine(index, PROFILES["hand-tuned"])
    cold, taught = (engine.rank("apply the rename", Learned(vocabulary=words)) for words in ((), (sure, new)))
    index.close()
    assert fused_scores({"": taught.channels["learned_vocabulary"]}) == {store: 0.8 / 61, describe: 0.3 / 62}
    assert taught.channels.keys() - cold.channels.keys() == {"learned_vocabulary"}
    for before, after in ((cold.additions, taught.additions), (cold.boosts, taught.boosts)):
        assert before.keys() == after.keys()


def test_what_use_has_taught_reaches_the_command(tables: Repository) -> None:
    task = "zanzibar expedition"
    assert assay(tables.root, "context", task).code == 1
    for _ in range(2):
        assert assay(tables.root, "feedback", "useful", "Store", "--task", task).code == 0
    assert assay(tables.root, "context", task, "--format", "json").json["items"][0]["symbol"] == "Store"
    assert assay(tables.root, "why", task, "Store").code == 0
    (tables.root / ".assay" / "learned.db").write_bytes(b"not a database at all, but long enough to be one" * 40)
    done = assay(tables.root, "context", task)
    assert done.code == 1
    assert "warning" in done.err
    assert "learned.db" in done.err


def test_a_session_prefers_what_it_was_given_only_if_a_profile_says_so(tables: Repository) -> None:
    tables.write("assay.toml", "[profile.near]\nsession = 0.2\n")
    task = "rows and tables"

    def scores(session: str, *options: str) -> dict[str, float]:
        answer = assay(tables.root, "context", task, "--session", session, "--format", "json", *options).json
        return {item["id"]: item["score"] for item in answer["items"]}

    cold = scores("cold")
    for session in ("by default", "one"):
        [given] = scores(session, "-k", "1")
    assert scores("by default") == cold
    again = scores("one", "--profile", "near")
    assert all(again[id] / again[given] < score / cold[given] for id, score in cold.items() if id != given)
    assert scores("two", "--profile", "near") == cold


# -- reading -----------------------------------------------------------------------------------------------------------


def test_only_the_beginning_of_a_pasted_log_is_read() -> None:
    reading = parse_task("encode " + "x" * LONGEST_TASK + " describe", Profile())
    assert "encod" in reading.terms
    assert "describ" not in reading.terms


# -- profiles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROFILES))
def test_every_profile_answers_and_repeats_exactly(tables: Repository, name: str) -> None:
    index = tables.open()
    rankings = [open_engine(index, PROFILES[name]).rank("apply the rename operation to a table") for _ in range(2)]
    found = _symbols(tables, rankings[0].best(3))
    index.close()
    assert found[0].startswith("Rename") or found[0].startswith("Operation")
    assert rankings[0].scores.tobytes() == rankings[1].scores.tobytes()


def test_one_overload_stands_for_all(repository: Repository) -> None:
    overloads = "".join(
        f"  public void send(String message{', int n' * n}) {{ }}\n".replace("int n, int n", "int n, int m")
        for n in range(3)
    )
    repository.write(
        "Mail.java", f"public class Mail {{\n{overloads}  public void sendLater(String message) {{ }}\n}}\n"
    )
    repository.commit()
    repository.index()
    index = repository.open()
    found = [ranked.item.symbol for ranked in Engine(index, Profile()).ranked("send a message", 3)]
    flooded = [
        ranked.item.symbol for ranked in Engine(index, Profile(overload=1.0, namesake=1.0)).ranked("send a message", 3)
    ]
    index.close()
    assert len(set(found)) == 3
    assert len(set(flooded)) < 3
