"""Tuning: grouped folds, a search that finds effects and ignores noise, verdicts, real tunings
that are killed and go on, and a configuration whose comments survive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import NormalDist
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.toml import with_table
from assay.core.golden import GoldenQuery
from assay.core.packs import NOTHING, Learned
from assay.errors import AssayError
from assay.evaluate.golden import load
from assay.evaluate.judging import Floats
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics import parse
from assay.evaluate.systems.assay import HISTORY_SETTINGS, TUNED, Assay
from assay.evaluate.systems.assay import open as open_assay
from assay.evaluate.tune import FigureCache, TuningTask, ask
from assay.evaluate.tune.search import (
    FOLDS,
    GAIN,
    LARGEST,
    LEAST,
    MOST_CHANGES,
    NO_GAIN,
    TOO_FEW,
    Changes,
    Figures,
    Folds,
    Tuned,
    changed,
    corrected_p,
    cross_validate,
    format_changes,
    judge,
    search,
    singles,
    split,
)
from assay.rank.context import QueryContext
from assay.rank.engine import Engine
from assay.rank.profile import PROFILES, Profile
from support.command import COMMAND, ENVIRONMENT, Done, assay, assay_here
from support.repository import Repository
from support.waiting import until

BASE = {name: float(getattr(Profile(), name)) for name in TUNED}
ALL = slice(None)


# --- folds


def queries(count: int, **of: Callable[[int], str]) -> list[GoldenQuery]:
    facts: dict[str, Callable[[int], str]] = {"text": lambda number: f"task {number}"} | of
    return [GoldenQuery(f"q{n}", **{name: fact(n) for name, fact in facts.items()}) for n in range(count)]  # type: ignore[arg-type]


def test_a_repository_is_never_on_both_sides() -> None:
    asked = queries(100, repository=lambda n: f"r{n % 7}")
    folds = split(asked)
    assert folds.by == "repository"
    assert folds.count == FOLDS
    where = {(one.repository, fold) for one, fold in zip(asked, folds.of, strict=True)}
    assert len(where) == 7
    assert max(Counter(folds.of).values()) <= 2 * min(Counter(folds.of).values()) + 1


def test_queries_with_dates_are_divided_into_stretches_of_time() -> None:
    asked = queries(52, notes=lambda n: f"2026-01-{n % 26 + 1:02}T10:00:00Z")
    folds = split(asked)
    assert folds.by == "time"
    ordered = [fold for _, fold in sorted(zip((one.notes for one in asked), folds.of, strict=True))]
    assert ordered == sorted(ordered)
    assert set(Counter(folds.of).values()) <= {10, 11}


def test_other_queries_are_divided_by_their_text() -> None:
    folds = split(queries(100, text=lambda n: f"task {n // 2}"))
    assert folds.by == "text"
    assert folds.count == FOLDS
    assert folds.of[0::2] == folds.of[1::2]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.text(max_size=3)), max_size=30), st.randoms())
def test_every_query_is_held_out_once_whatever_the_order(given: list[tuple[str, str]], random: Any) -> None:
    asked = [GoldenQuery(f"q{n}", text, repository=repository) for n, (repository, text) in enumerate(given)]
    folds = split(asked)
    assert sum(folds.held_out(fold).sum() for fold in range(folds.count)) == len(asked)
    shuffled = random.sample(asked, len(asked))
    again = dict(zip((one.id for one in shuffled), split(shuffled).of, strict=True))
    assert [again[one.id] for one in asked] == list(folds.of)


# --- search, on figures that are made up


def worth(of: Callable[[Mapping[str, float]], float], count: int = 100, noise: float = 0.0, seed: int = 0) -> Figures:
    """Figures that depend on the numbers as told; every change adds noise of its own to every query."""
    start = np.random.default_rng(seed).uniform(0.2, 0.8, count)

    def one(changes: Changes) -> Floats:
        shift = sum((_noise(f"{seed} {pair}", count) for pair in changes), np.zeros(count))
        return np.asarray(start + of(BASE | dict(changes)) - of(BASE) + noise * shift)

    return lambda settings: [one(changes) for changes in settings]


def _noise(name: str, count: int) -> Floats:
    return np.random.default_rng(zlib.crc32(name.encode())).normal(0, 1, count)


def everywhere(count: int = 100) -> Any:
    return np.ones(count, np.bool_)


def test_the_one_number_that_matters_is_found_at_its_best_value() -> None:
    def of(numbers: Mapping[str, float]) -> float:
        return -0.05 * abs(numbers["walk"] - 0.5)

    assert search(worth(of), TUNED, BASE, everywhere()) == (("walk", 0.5),)
    assert dict(search(worth(of, noise=0.05), TUNED, BASE, everywhere()))["walk"] == 0.5


def test_two_numbers_that_matter_are_found_although_each_was_tried_alone_first() -> None:
    figures = worth(lambda n: -0.05 * abs(n["walk"] - 0.5) - 0.04 * abs(n["touched"] - 1.0))
    assert dict(search(figures, TUNED, BASE, everywhere())) == {"walk": 0.5, "touched": 1.0}


def test_a_value_is_moved_on_when_another_change_makes_that_better() -> None:
    def of(numbers: Mapping[str, float]) -> float:
        aim = 0.5 if numbers["hits"] == 0 else 1.0  # what is best for the walk depends on HITS
        return 0.03 * (numbers["hits"] == 0) - 0.05 * abs(numbers["walk"] - aim)

    assert dict(search(worth(of), TUNED, BASE, everywhere())) == {"hits": 0.0, "walk": 0.5}


def test_what_changes_nothing_stays_as_it_is() -> None:
    assert search(worth(lambda numbers: 0.0), TUNED, BASE, everywhere()) == ()
    assert search(worth(lambda numbers: 0.0, count=1), TUNED, BASE, everywhere(1)) == ()


def test_a_change_that_brings_nothing_beside_the_others_is_taken_back() -> None:
    def of(numbers: Mapping[str, float]) -> float:
        best = numbers["walk"] == 0.5 and numbers["hits"] == 0.0
        return (
            0.5
            if best
            else 0.3 * (numbers["folder"] == 0.6) + 0.1 * (numbers["walk"] == 0.5) + 0.1 * (numbers["hits"] == 0)
        )

    assert dict(search(worth(of), TUNED, BASE, everywhere())) == {"hits": 0.0, "walk": 0.5}


def test_there_are_never_more_changes_than_can_be_explained() -> None:
    def of(numbers: Mapping[str, float]) -> float:
        return 0.01 * sum(numbers[name] != BASE[name] for name in TUNED)

    assert len(search(worth(of), TUNED, BASE, everywhere())) == MOST_CHANGES


def test_only_the_rows_given_are_looked_at() -> None:
    def figures(settings: Sequence[Changes]) -> list[Floats]:
        return [np.array([0.5 + 0.1 * (n < 50) * dict(one).get("walk", 1.7) for n in range(100)]) for one in settings]

    last = np.arange(100) >= 50
    assert search(figures, TUNED, BASE, last) == ()
    assert search(figures, TUNED, BASE, ~last) == (("walk", 2.5),)


def test_what_one_repository_gains_is_noise_where_there_are_several() -> None:
    labels = [f"r{n % 5}" for n in range(100)]

    def figures(settings: Sequence[Changes]) -> list[Floats]:
        gains = [
            np.array([0.5 if label == "r0" else -0.01 for label in labels]) * (dict(one).get("walk") == 0.5)
            for one in settings
        ]
        return [0.2 + one for one in gains]

    assert search(figures, TUNED, BASE, everywhere()) == (("walk", 0.5),)
    assert search(figures, TUNED, BASE, everywhere(), labels) == ()


def test_every_tried_value_differs_from_the_base() -> None:
    tried = singles(TUNED, BASE)
    assert len(set(tried)) == len(tried)
    assert all(BASE[name] != value >= 0 for ((name, value),) in tried)
    assert {name for name in HISTORY_SETTINGS if "." not in name} <= set(TUNED)


@given(st.dictionaries(st.sampled_from(sorted(TUNED)), st.sampled_from([0.0, 0.15, 1.0, 2.5]), max_size=4))
def test_changes_have_one_order_and_one_spelling(given: dict[str, float]) -> None:
    forwards: Changes = ()
    for name, value in given.items():
        forwards = changed(forwards, name, value)
    assert dict(forwards) == given
    assert list(forwards) == sorted(forwards)
    assert {
        pair.partition("=")[0]: float(pair.partition("=")[2]) for pair in format_changes(forwards).split(",") if pair
    } == given
    for name in given:
        assert name not in dict(changed(forwards, name, None))


# --- cross-validation and the verdict


def crossed(figures: Figures, count: int = 100) -> Tuned:
    return cross_validate(figures, TUNED, BASE, split(queries(count)))


def test_a_gain_that_is_real_holds_on_queries_it_was_not_tuned_on() -> None:
    tuned = crossed(worth(lambda numbers: -0.05 * abs(numbers["walk"] - 0.5), noise=0.05))
    assert tuned.verdict.outcome == GAIN
    assert dict(tuned.changes)["walk"] == 0.5
    assert [dict(fold.changes)["walk"] for fold in tuned.folds] == [0.5] * FOLDS
    assert tuned.verdict.held_out.delta == pytest.approx(0.06, abs=0.03)


def test_a_query_is_never_measured_by_what_it_helped_to_choose() -> None:
    asked: list[list[Changes]] = []

    def figures(settings: Sequence[Changes]) -> list[Floats]:
        asked.append(list(settings))
        return [
            np.array([0.5 + 0.3 * (n % 5 == 0) * (dict(one).get("walk") == 0.5) for n in range(50)]) for one in settings
        ]

    folds = Folds("text", tuple(n % 5 for n in range(50)))
    tuned = cross_validate(figures, TUNED, BASE, folds)
    assert tuned.folds[0].changes == ()  # only its own queries gain
    assert not (tuned.held_out[folds.held_out(0)] > 0.5).any()
    assert dict(tuned.changes) == {"walk": 0.5}
    assert tuned.verdict.outcome != GAIN


def test_false_alarms_are_rare_on_pure_noise() -> None:
    trials = [crossed(worth(lambda numbers: 0.0, count=60, noise=0.1, seed=seed), 60) for seed in range(30)]
    alarms = sum(one.verdict.outcome == GAIN for one in trials)
    assert sum(bool(one.changes) for one in trials) > 27
    assert np.mean([np.nanmean(one.tuned - one.base) for one in trials]) > 0.03  # what it would claim without folds
    assert alarms <= 3  # 0.75 are to be expected of a test at 5 % in both directions


def test_p_values_of_cross_validation_are_corrected_for_shared_training_queries() -> None:
    # Nadeau and Bengio: five folds multiply the standard error by 1.5, so 1.96 × 1.5 standard errors make 5 %
    assert corrected_p(2 * NormalDist().cdf(-1.96 * 1.5)) == pytest.approx(0.05, abs=1e-4)
    assert [corrected_p(p) for p in (0.0, 1.0)] == [0.0, 1.0]
    corrected = [corrected_p(p) for p in (0.001, 0.01, 0.037, 0.5)]
    assert corrected == sorted(corrected)
    assert all(after > before for before, after in zip((0.001, 0.01, 0.037, 0.5), corrected, strict=True))


def test_a_set_too_small_to_show_a_gain_names_the_queries_needed() -> None:
    noise = np.random.default_rng(1).normal(0, 0.6, 60)
    verdict = judge(np.zeros(60), noise - noise.mean())
    assert verdict.outcome == TOO_FEW
    assert verdict.needed > 60
    enough = np.resize([-1.0, 1.0], verdict.needed) * noise.std(ddof=1) * 0.999
    assert judge(np.zeros(verdict.needed), enough).outcome == NO_GAIN
    assert judge(np.zeros(60), noise - noise.mean() - 0.3).outcome == NO_GAIN  # however they spread, this is no gain
    assert judge(np.zeros(60), np.zeros(60)).outcome == NO_GAIN
    assert judge(np.zeros(60), np.full(60, LARGEST)).outcome == GAIN
    assert judge(np.zeros(60), np.full(60, -LARGEST)).outcome == NO_GAIN


def test_repositories_are_the_units_if_there_are_enough() -> None:
    few, many = [f"r{n % 3}" for n in range(60)], [f"r{n % 10}" for n in range(60)]
    gained = np.random.default_rng(0).normal(0.1, 0.1, 60)
    assert judge(np.zeros(60), gained, few).held_out.clusters == 0
    assert judge(np.zeros(60), gained, many).held_out.clusters == 10


# --- what is remembered


def test_a_line_that_a_kill_tore_is_asked_again_and_the_others_are_not(tmp_path: Path) -> None:
    memory = FigureCache(tmp_path, "state")
    memory.add("walk=1", {"a": 1 / 3, "b": float("nan")})
    path = tmp_path / "state.jsonl"
    path.write_bytes(path.read_bytes() + b'\n["walk=2", {"a": 0.')
    again = FigureCache(tmp_path, "state")
    assert list(again.known) == ["walk=1"]
    assert again.known["walk=1"]["a"] == 1 / 3
    assert np.isnan(again.known["walk=1"]["b"])
    again.add("walk=2", {"a": 0.5})
    assert FigureCache(tmp_path, "state").known["walk=2"] == {"a": 0.5}


def test_figures_of_states_that_are_gone_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(9):
        FigureCache(tmp_path, f"state{number}").add("", {"a": 0.5})
        os.utime(tmp_path / f"state{number}.jsonl", (number, number))
    assert len(list(tmp_path.iterdir())) == 3
    assert FigureCache(tmp_path, "state8").before == 1


# --- the configuration


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "# mine\n[context]\nk = 5 # few\n", "[profile.other]\nwalk = 1", "\ufeff[context]\r\nk = 5\r\n", "\r\n[context]\nk = 5\r\n",
        "[context]\nformat = 'text'\n\n\n# the end", "[classes.sign-in]\nphrases = [\n  'a',  # first\n]\ntargets = ['b']\n",
    ],
)  # fmt: skip
def test_a_table_more_leaves_every_byte_before_it(text: str) -> None:
    rows = {"base": "default", "walk": 0.5, "edge_weights": {"calls": 1.0}}
    added = with_table(text, ("profile", "my own"), rows, "by a test")
    assert added.startswith(text)
    assert tomllib.loads(added.removeprefix("\ufeff"))["profile"]["my own"] == rows
    assert "# by a test" in added
    assert ("\r\n" in added) == ("\r\n" in text)


@pytest.mark.parametrize(
    "text", ["profile = 3", "profile = { mine = {} }", "[profile.mine]\nwalk = 1", "profile.mine.walk = 1"]
)
def test_a_table_is_not_added_where_there_is_something(text: str) -> None:
    with pytest.raises(AssayError, match="cannot be added"):
        with_table(text, ("profile", "mine"), {"walk": 0.5})


# --- our engine, and the command

WORDS = [
    "amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron", "inlet", "jasper",
    "kelp", "lotus", "maple", "nectar", "olive", "pearl", "quartz", "raven", "sable", "thyme",
]  # fmt: skip


def shop(repository: Repository, tests_matter: bool = True, count: int = 40) -> Path:
    """A project of functions with a test each. Where tests matter, tasks are about what only a test says; else about the function."""
    asked = []
    for n in range(count):
        first, second, third = WORDS[n % 20], WORDS[(n * 7 + 3) % 20], WORDS[(n * 11 + n // 20) % 20]
        repository.write(
            f"shop/{first}{n}.py",
            f'def {first}_{second}_{n}(total):\n    """The {third} of a {first}."""\n    return total\n',
        )
        repository.write(
            f"tests/test_{first}{n}.py",
            f"from shop.{first}{n} import {first}_{second}_{n}\n\n\ndef test_{first}_{second}_{third}_{n}():\n"
            f'    """The {third} {second} of a {first}."""\n    assert {first}_{second}_{n}(1) == 1\n',
        )
        expected = f"test_{first}_{second}_{third}_{n}" if tests_matter else f"{first}_{second}_{n}"
        asked.append(
            {"id": f"q{n}", "question": f"the {third} {second} of a {first} number {n}", "expected_symbols": [expected]}
        )
    repository.index()
    return repository.write("golden.jsonl", "".join(json.dumps(one) + "\n" for one in asked))


TUNE = ("eval", "tune", "--golden", "golden.jsonl", "--root", ".")
QUICK = ("--from", "hand-tuned")  # without the learned ranker, a query takes a third


def tune(repository: Repository, *arguments: str | Path) -> Done:
    return assay(repository.root, *TUNE, *arguments)


def tune_few(repository: Repository, *arguments: str | Path) -> Done:
    """Tune a few parameters in this process."""
    few = {name: TUNED[name] for name in ("coverage", "test_weight", "walk", *HISTORY_SETTINGS) if name in TUNED}
    with mock.patch("assay.evaluate.tune.TUNED", few):
        return assay_here(repository.root, *TUNE, *arguments)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, dict[str, Any]]:
    """A shop that was tuned, and what that printed. What a test takes from its memory, it puts back."""
    made = Repository(tmp_path_factory.mktemp("tuned") / "shop")
    made.root.mkdir()
    shop(made)
    told = tune(made, *QUICK, "--format", "json", "--jobs", "1").json
    assert told["work"]["answered_before"] == 0
    return made, told


def opened(repository: Repository, argument: str = "") -> Assay:
    return open_assay(repository.root, None, argument, 60.0)


def test_variations_answer_as_systems_of_their_own_do(repository: Repository) -> None:
    shop(repository, count=8)
    system = opened(repository)
    tried = singles(TUNED, BASE)
    text = "the amber birch of a cedar in `delta_heron_3`"
    together = system.retrieve_each(text, 10, [{}, *(dict(one) for one in tried)])
    for one, response in zip([(), *tried], together, strict=True):
        alone = opened(repository, f"default,{format_changes(one)}" if one else "default")
        assert [hit.id for hit in response.hits] == [hit.id for hit in alone.retrieve(text, 10).hits], one
    assert len({tuple(hit.id for hit in response.hits) for response in together}) > 1


@pytest.mark.parametrize("fixed", [(), tuple((name, 0.0) for name in HISTORY_SETTINGS)])
def test_a_query_is_read_once_for_all_settings(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, fixed: Changes
) -> None:
    golden = load(shop(repository, count=3))
    task = TuningTask(golden, matcher_for(golden, None), parse("nDCG@10"), repository.root, fixed=fixed)
    texts: list[str] = []
    read = Engine.read

    def recorded(self: Engine, task: str, learned: Learned = NOTHING) -> QueryContext:
        texts.append(task)
        return read(self, task, learned)

    monkeypatch.setattr(Engine, "read", recorded)
    with closing(task.open()) as system:
        ask(task, system, [(), (("walk", 0.5),), (("test_weight", 1.0),)], range(3))
    assert texts == [query.text for query in golden.queries]


def test_the_number_that_matters_is_found_written_and_used(repository: Repository) -> None:
    shop(repository)
    before = "# ours\n[context]\nk = 7 # few\n"
    repository.write("assay.toml", before)
    shown = tune_few(repository, "--jobs", "1")
    assert shown.code == 0, shown.err
    assert (repository.root / "assay.toml").read_text() == before
    assert "[profile.tuned]" in shown.out
    done = tune_few(repository, "--jobs", "2", "--write", "mine", "--format", "json")
    assert done.code == 0, done.err
    told = done.json
    assert told["work"]["asked"] == 0  # everything was asked before
    assert told["outcome"] == GAIN
    assert {one["name"]: one["to"] > one["from"] for one in told["changes"]}["test_weight"]
    assert told["held_out"]["wins"] > told["held_out"]["losses"]
    text = (repository.root / "assay.toml").read_text()
    assert text.startswith(before)
    assert tomllib.loads(text)["profile"]["mine"] == told["profile"]
    assert "test_" in assay(repository.root, "context", "the amber birch of a cedar", "--profile", "mine").out
    again = tune_few(repository, "--write", "mine")
    assert again.code == 2
    assert "exists in assay.toml" in again.err


def test_no_gain_writes_nothing(repository: Repository) -> None:
    shop(repository, tests_matter=False)
    done = tune(repository, *QUICK, "--write", "mine", "--jobs", "1")
    assert done.code == 1, done.out + done.err
    assert "o significant gain" in done.out
    assert "nothing written" in done.out
    assert not (repository.root / "assay.toml").exists()


def test_too_few_queries_are_refused_before_anything_is_asked(repository: Repository) -> None:
    shop(repository, count=LEAST - 1)
    done = tune(repository)
    assert done.code == 2
    assert f"tuning needs at least {LEAST}" in done.err
    assert "assay eval mine" in done.err
    assert not (repository.root / ".assay" / "tuning").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--measure", "latency"), "unknown measure"),
        (("--measure", "failure_rate"), "not a ranking measure"),
        (("--from", "defautl"), "Did you mean 'default'"),
        (("--matching", "strickt"), "Did you mean 'strict'"),
        (("--write", "default"), "is built in"),
        ((), f"tuning needs at least {LEAST}"),
    ],
)
def test_impossible_requests_are_refused_at_once(repository: Repository, arguments: tuple[str, ...], said: str) -> None:
    repository.write("golden.jsonl", '{"id": "a", "question": "b", "expected_symbols": ["c"]}\n')
    done = tune(repository, *arguments)
    assert done.code == 2
    assert said in done.err


def test_history_is_left_out_where_it_would_know_the_answers(repository: Repository) -> None:
    golden = shop(repository)
    repository.commit("The shop")
    repository.write("shop/amber0.py", "def amber_delta_0(total):\n    return total + 1\n")
    repository.commit("Give every amber its birch")
    repository.index()
    commit = repository.git("rev-parse", "HEAD").strip()
    lines = [json.loads(line) for line in golden.read_text().splitlines()]
    golden.write_text("".join(json.dumps(line | {"commit": commit}) + "\n" for line in lines))
    done = tune_few(repository, "--format", "json", "--jobs", "1")
    told = done.json
    assert told["left_out"] == list(HISTORY_SETTINGS)
    assert "mined from commits in the indexed history" in done.err
    assert not {one["name"] for one in told["changes"]} & set(HISTORY_SETTINGS)
    assert not {name for fold in told["folds"]["each"] for name in fold["changes"]} & set(HISTORY_SETTINGS)
    assert not set(told["profile"]) & set(HISTORY_SETTINGS)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_tuning_resumes_with_the_same_result(tuned: tuple[Repository, dict[str, Any]], jobs: str) -> None:
    repository, fresh = tuned
    (memory,) = (repository.root / ".assay" / "tuning").iterdir()
    lines = memory.read_bytes().splitlines(keepends=True)
    memory.write_bytes(b"".join(lines[: len(lines) * 3 // 4]))  # killed here once before
    size = memory.stat().st_size
    command = [*COMMAND, *TUNE, *QUICK, "--jobs", jobs]
    process = subprocess.Popen(command, cwd=repository.root, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    until(lambda: memory.stat().st_size > size or process.poll() is not None)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    resumed = tune(repository, *QUICK, "--format", "json", "--jobs", jobs).json
    assert resumed["work"]["answered_before"] > 0
    assert {**resumed, "work": {}} == {**fresh, "work": {}}


def test_a_profile_of_ones_own_keeps_its_changes_when_it_is_tuned(repository: Repository) -> None:
    shop(repository)
    repository.write("assay.toml", '[profile.ours]\nbase = "no-history"\nwalk = 0.5\nkind_weights = { field = 0.7 }\n')
    told = tune_few(repository, "--from", "ours", "--write", "mine", "--format", "json", "--jobs", "1").json
    assert told["profile"] | {"base": "no-history", "kind_weights": {"field": 0.7}} == told["profile"]
    assert tomllib.loads((repository.root / "assay.toml").read_text())["profile"]["mine"] == told["profile"]
    assert set(PROFILES) >= {told["profile"]["base"]}
