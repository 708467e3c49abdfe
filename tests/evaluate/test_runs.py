"""The run store: what is stored is read back, by the same tests in SQLite and in PostgreSQL."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.golden import Answer, Citation, Expected, GoldenQuery, GoldenSet, Hit, Response, Stage
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.ledger import Experiment
from assay.evaluate.matching import MATCHERS
from assay.evaluate.run_file import NoSuchRun
from assay.evaluate.runs import RunStore
from assay.evaluate.upkeep import check_ledger, check_runs, copy_ledger, copy_runs, prune_runs
from support.postgres import new_postgres_store
from support.property_tests import examples
from support.runs import GOLDEN, run_info

NewAddress = Callable[[], Path | str]
RIGHT, WRONG = Response((Hit("d"),), latency_ms=1.5), Response((Hit("x"),), error="")


_TEXT = st.text(max_size=8)
_HITS = st.builds(
    Hit,
    _TEXT.filter(bool),
    _TEXT,
    _TEXT,
    _TEXT,
    st.integers(0, 9),
    st.integers(0, 9),
    st.none() | st.floats(0, 1),
    st.integers(0, 9),
)
_ANSWERS = st.none() | st.builds(
    Answer, _TEXT, st.lists(st.builds(Citation, _TEXT, st.none() | st.booleans())).map(tuple), st.booleans()
)
_STAGES = st.lists(st.builds(Stage, _TEXT, st.lists(_TEXT).map(tuple), st.dictionaries(_TEXT, _TEXT)), max_size=2).map(
    tuple
)
_RESPONSES = st.builds(
    Response, st.lists(_HITS, max_size=4).map(tuple), _ANSWERS, st.none() | st.integers(0, 9), _STAGES,
    st.dictionaries(_TEXT, st.integers(0, 9) | _TEXT, max_size=2), _TEXT.filter(lambda text: "\0" not in text),
    st.floats(0, 1e6),
)  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def new_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewAddress:
    """Addresses of new stores, of either kind."""
    if request.param == "sqlite":
        return lambda: tmp_path_factory.mktemp("store") / "runs.db"
    cluster = request.getfixturevalue("postgres")
    return lambda: new_postgres_store(cluster)


@pytest.fixture(scope="module")
def store(new_address: NewAddress) -> Iterator[RunStore]:
    with RunStore.open(new_address(), write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
        yield opened


@pytest.fixture
def empty(new_address: NewAddress) -> Iterator[RunStore]:
    with RunStore.open(new_address(), write=True) as opened:
        yield opened


@settings(max_examples=examples(60), deadline=None)
@given(_RESPONSES)
def test_a_response_is_read_as_it_was_stored(store: RunStore, response: Response) -> None:
    store.record("run", [(0, "q", response, False)])
    assert store.responses("run", 1) == [response]
    assert store.responses_at("run", [0]) == [response]


def test_a_golden_set_is_read_as_it_was_stored(store: RunStore) -> None:
    expected = (Expected("a", "chunk", 2, "doc", 3, 4), Expected("b", "symbol", 0))
    query = GoldenQuery("é", "t", expected, True, "easy", "c", ("x",), "n", "a", ("m",), ("f",), "r", "1234", "file:1")
    golden = GoldenSet((query, GoldenQuery("plain", "p")), "there", "golden", "other")
    info = store.start(run_info("second", golden_hash="other"), golden)
    assert store.golden(info) == golden
    assert store.queries(info, [1, 0]) == [golden.queries[1], query]
    assert store.repositories(info) == ["r", ""]


def test_a_run_is_found_by_id_beginning_label_and_how_long_ago(empty: RunStore) -> None:
    for number, (run_id, label) in enumerate(
        [("20260101-aaa", "old"), ("20260102-bbb", "twice"), ("20260102-ccc", "twice")]
    ):
        empty.start(run_info(run_id, label=label, created=f"2026-01-0{number + 1}"), GOLDEN)
    names = {
        "latest": "ccc",
        "latest~1": "bbb",
        "latest~2": "aaa",
        "twice": "ccc",
        "20260101": "aaa",
        "20260102-b": "bbb",
    }
    assert {name: empty.find(name).run_id[-3:] for name in names} == names
    for name, says in (
        ("20260102", "is ambiguous: 20260102-bbb, 20260102-ccc"),
        ("latest~3", "has only 3 runs"),
        ("20260102-bbc", "Did you mean '20260102-bbb'"),
        ("", "is ambiguous"),
    ):
        with pytest.raises(NoSuchRun, match=says):
            empty.find(name)
    # the same second, the same system: a number behind it
    assert empty.start(run_info("20260101-aaa"), GOLDEN).run_id == "20260101-aaa-2"


def test_a_store_opened_for_reading_cannot_be_written(new_address: NewAddress) -> None:
    address = new_address()
    with RunStore.open(address, write=True) as opened:
        opened.start(run_info("run"), GOLDEN)
    with RunStore.open(address) as opened:
        assert [run.run_id for run in opened.runs()] == ["run"]
        with pytest.raises((sqlite3.OperationalError, psycopg.errors.InsufficientPrivilege), match=r"readonly|denied"):
            opened.update("run", label="x")
        with pytest.raises((sqlite3.OperationalError, psycopg.errors.InsufficientPrivilege), match=r"readonly|denied"):
            opened.record("run", [(0, "q", RIGHT, False)])
        assert opened.info("run").label == ""


def test_nul_which_postgresql_cannot_store_becomes_a_visible_character_in_both(empty: RunStore) -> None:
    empty.start(run_info("run"), GOLDEN)
    empty.record("run", [(0, "q\0", Response(error="no\0"), True)])
    assert (empty.responses("run", 1)[0].error, empty.unstable("run")) == ("no␀", ["q␀"])


def test_a_second_response_replaces_the_first_and_progress_is_known(empty: RunStore) -> None:
    golden = GoldenSet(tuple(GoldenQuery(f"q{number}", "t") for number in range(3)), "golden", "pairs", "digest")
    empty.start(run_info("run"), golden)
    empty.record("run", [(0, "q0", Response(error="no"), True), (2, "q2", WRONG, True)])
    assert empty.answered("run") == {0: False, 2: True}
    assert empty.unstable("run") == ["q0", "q2"]
    empty.record("run", [(0, "q0", RIGHT, False)])
    assert empty.answered("run") == {0: True, 2: True}
    assert empty.unstable("run") == ["q2"]
    assert empty.responses("run", 3) == [RIGHT, Response(error="not asked: the run was interrupted"), WRONG]


def test_runs_are_listed_by_time_then_by_the_order_they_were_started(empty: RunStore) -> None:
    for run_id, created in (("b", "2026-01-02"), ("c", "2026-01-01"), ("a", "2026-01-02")):
        empty.start(run_info(run_id, created=created), GOLDEN)
    assert [run.run_id for run in empty.runs()] == ["c", "b", "a"]
    assert [run.run_id for run in empty.like(GOLDEN, system="s", budget=None, answers=False)] == ["a", "b", "c"]
    assert empty.like(GOLDEN, budget=5) == []


def test_judged_arrays_are_read_as_they_were_stored_and_replaced(empty: RunStore) -> None:
    info = empty.start(run_info("run"), GOLDEN)
    for response in (WRONG, RIGHT):
        judged = judge(GOLDEN.queries, [response], MATCHERS["doc"], "doc")
        empty.save_judged("run", "doc", judged)
        stored = empty.judged(info)
        assert stored.queries == judged.queries
        assert {name: array.tobytes() for name, array in stored.arrays().items()} == {
            name: array.tobytes() for name, array in judged.arrays().items()
        }


def test_an_error_in_the_middle_of_a_write_leaves_nothing_of_it(empty: RunStore) -> None:
    empty.start(run_info("run"), GOLDEN)
    with contextlib.suppress(OverflowError, psycopg.Error):
        empty.record("run", [(0, "q", RIGHT, False), (1, "q", Response(tokens=2**70), False)])
    assert empty.answered("run") == {}


def _complete(store: RunStore, run_id: str, response: Response, **facts: str) -> None:
    info = store.start(run_info(run_id, **facts), GOLDEN)
    store.record(info.run_id, [(0, "q", response, False)])
    store.save_judged(info.run_id, "doc", judge(GOLDEN.queries, [response], MATCHERS["doc"], "doc"))
    store.update(info.run_id, status="complete", finished="2026-01-02")


def _ignore() -> None:
    pass


@pytest.mark.parametrize("back", [False, True], ids=["to", "from"])
def test_runs_are_copied_between_stores_once_and_are_equal(empty: RunStore, tmp_path: Path, back: bool) -> None:
    with RunStore.open(tmp_path / "other.db", write=True) as other:
        source, target = (empty, other) if back else (other, empty)
        _complete(source, "first", RIGHT)
        _complete(source, "second", WRONG, created="2026-01-02")
        target.start(run_info("second", system="another system"), GOLDEN)
        copied = copy_runs(source, target, source.runs(), _ignore)
        assert [(run.run_id, run.stored_as, run.new) for run in copied] == [
            ("first", "first", True), ("second", "second-2", True)
        ]  # fmt: skip
        assert [run.new for run in copy_runs(source, target, source.runs(), _ignore)] == [False, False]
        assert len(target.runs()) == 3
        checked = check_runs(source, source.runs(), target, _ignore)
        assert [run.problems for run in checked] == [(), ()]
        assert target.responses("second-2", 1) == [WRONG]
        assert target.golden(target.info("first")) == source.golden(source.info("first"))


def test_a_run_that_was_resumed_after_it_was_copied_is_brought_up_to_date(empty: RunStore, tmp_path: Path) -> None:
    with RunStore.open(tmp_path / "other.db", write=True) as source:
        info = source.start(run_info("run"), GOLDEN)
        empty.copy(source, info)
        source.record("run", [(0, "q", RIGHT, False)])
        source.update("run", status="complete", label="nightly")
        assert empty.copy(source, source.info("run")) == source.info("run")
        assert empty.answered("run") == {0: True}
        assert empty.digest(empty.info("run")) == source.digest(source.info("run"))


def test_a_check_names_what_is_missing_or_differs(empty: RunStore, tmp_path: Path) -> None:
    _complete(empty, "whole", RIGHT)
    empty.start(run_info("lost", status="complete", created="2026-01-02"), GOLDEN)
    with RunStore.open(tmp_path / "other.db", write=True) as other:
        other.copy(empty, empty.info("whole"))
        other.record("whole", [(0, "q", WRONG, False)])
        problems = {run.run_id: run.problems for run in check_runs(empty, empty.runs(), other, _ignore)}
    assert problems == {
        "whole": (f"differs from the run in {tmp_path / 'other.db'}",),
        "lost": ("0 of 1 responses, but the run is complete", f"is missing in {tmp_path / 'other.db'}"),
    }


def test_pruning_deletes_old_runs_but_none_with_a_label_or_a_name(empty: RunStore, tmp_path: Path) -> None:
    other = GoldenSet((GoldenQuery("other", "text"),), "other", "pairs", "other")
    _complete(empty, "old", RIGHT)
    _complete(empty, "labelled", RIGHT, label="release")
    _complete(empty, "named", RIGHT)
    gone = empty.start(run_info("gone"), other)
    empty.start(run_info("new", created="2999-01-01"), GOLDEN)
    assert [run.run_id for run in prune_runs(empty, 30, ["named"], tmp_path, dry_run=True)] == ["old", "gone"]
    assert len(empty.runs()) == 5
    prune_runs(empty, 30, ["named"], tmp_path, dry_run=False)
    assert [run.run_id for run in empty.runs()] == ["labelled", "named", "new"]
    assert empty.answered("old") == {}
    assert empty.responses("named", 1) == [RIGHT]
    with pytest.raises(AssayError, match="golden set of run gone is missing"):
        empty.golden(gone)


# --- baselines and experiments


def test_a_baseline_is_a_name_for_a_run_and_may_be_moved_and_removed(empty: RunStore) -> None:
    for name in ("first", "second"):
        empty.start(run_info(name), GOLDEN)
    ledger = empty.ledger
    assert (ledger.baselines(), ledger.baseline("main")) == ([], None)
    ledger.set_baseline("main", "first")
    ledger.set_baseline("nightly", "first")
    ledger.set_baseline("main", "second")
    assert [(baseline.name, baseline.run_id) for baseline in ledger.baselines()] == [
        ("main", "second"),
        ("nightly", "first"),
    ]
    assert ledger.needed_runs() == {"first", "second"}
    assert [ledger.remove_baseline("nightly") for _ in range(2)] == [True, False]
    assert ledger.needed_runs() == {"second"}


@pytest.mark.parametrize("name", ["", "latest", "latest~2", "a.json", "../x", "a b", "x" * 81, "\x1b[2J", "é"])
def test_a_name_that_could_be_a_run_or_a_file_is_no_baseline(store: RunStore, name: str) -> None:
    with pytest.raises(AssayError, match="not a name for a baseline"):
        store.ledger.set_baseline(name, "run")


def _experiment(number: int = 0, **changed: str) -> Experiment:
    texts = {"title": "stems", "hypothesis": "plurals\0 are 'missed'; --", "what": "stem", "before": "run"}
    return Experiment(number, "2026-01-01", "", **texts | changed)


def test_experiments_are_numbered_and_concluded_once(empty: RunStore) -> None:
    empty.start(run_info("run"), GOLDEN)
    first, second = (empty.ledger.add_experiment(_experiment(title=title)) for title in ("one", "two"))
    assert (first.number, second.number) == (1, 2)
    assert empty.ledger.experiments() == [first, second]
    assert first.hypothesis == "plurals␀ are 'missed'; --"
    assert empty.ledger.needed_runs() == {"run"}
    concluded = replace(second, after="later", result="- Overall: better", conclusion="Keep.")
    empty.ledger.conclude_experiment(concluded)
    assert empty.ledger.experiments() == [first, concluded]
    with pytest.raises(AssayError, match="experiment 2 was concluded meanwhile"):
        empty.ledger.conclude_experiment(replace(second, after="other"))
    assert empty.ledger.experiments()[1] == concluded


def test_baselines_and_experiments_are_copied_with_the_runs_once(empty: RunStore, new_address: NewAddress) -> None:
    with RunStore.open(new_address(), write=True) as source:
        for name in ("run", "other"):
            source.start(run_info(name, system=f"of-{name}"), GOLDEN)
        source.ledger.set_baseline("main", "run")
        source.ledger.set_baseline("kept", "run")
        opened = source.ledger.add_experiment(_experiment())
        empty.start(run_info("run", system="another"), GOLDEN)
        empty.ledger.set_baseline("kept", "run")
        empty.ledger.add_experiment(_experiment(title="mine"))
        for new in (["baseline main", "experiment 2"], []):
            copied = copy_runs(source, empty, source.runs(), lambda: None)
            assert list(copy_ledger(source, empty, copied, everything=True)) == new
        baselines = {baseline.name: baseline.run_id for baseline in empty.ledger.baselines()}
        assert baselines == {"main": "run-2", "kept": "run"}
        assert [(entry.title, entry.before) for entry in empty.ledger.experiments()] == [
            ("mine", "run"),
            ("stems", "run-2"),
        ]
        source.ledger.conclude_experiment(replace(opened, after="other", result="- won", conclusion="Keep."))
        copied = copy_runs(source, empty, source.runs(), lambda: None)
        assert list(copy_ledger(source, empty, copied, everything=True)) == ["conclusion of experiment 2"]
        assert empty.ledger.experiments()[1].conclusion == "Keep."
    assert check_ledger(empty) == [
        "baseline kept: run run is running",
        "baseline main: run run-2 is running",
    ]


def test_runs_of_baselines_and_open_experiments_are_not_pruned(empty: RunStore, tmp_path: Path) -> None:
    for name in ("baseline", "before", "after", "old"):
        empty.start(run_info(name), GOLDEN)
    empty.ledger.set_baseline("main", "baseline")
    entry = empty.ledger.add_experiment(_experiment(before="before"))
    assert {run.run_id for run in prune_runs(empty, 1, [], tmp_path, dry_run=True)} == {"after", "old"}
    empty.ledger.conclude_experiment(replace(entry, after="after"))
    assert {run.run_id for run in prune_runs(empty, 1, [], tmp_path, dry_run=False)} == {"before", "after", "old"}
    assert [run.run_id for run in empty.runs()] == ["baseline"]


# --- run files of the version before


def _first_format(path: Path) -> None:
    """Make a run file as the version before made it, with a run."""
    with RunStore.open(path, write=True) as store:
        store.start(run_info("old"), GOLDEN)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript("DROP TABLE eval_baselines; DROP TABLE eval_experiments; PRAGMA user_version = 1")


def test_an_older_run_file_is_read_unchanged_and_updated_when_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    _first_format(path)
    content = path.read_bytes()
    with RunStore.open(path) as store:
        assert ([run.run_id for run in store.runs()], store.ledger.baselines()) == (["old"], [])
        assert store.ledger.experiments() == []
    assert path.read_bytes() == content
    with RunStore.open(path, write=True) as store:
        store.ledger.set_baseline("main", "old")
    with RunStore.open(path) as store:
        assert [run.run_id for run in store.runs()] == ["old"]
        assert store.ledger.needed_runs() == {"old"}


def test_a_run_file_with_tables_of_its_own_is_not_updated(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    _first_format(path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TRIGGER mine AFTER INSERT ON eval_runs BEGIN DELETE FROM eval_runs; END")
    content = path.read_bytes()
    for write in (False, True):
        with pytest.raises(AssayError, match=r"runs\.db"), RunStore.open(path, write):
            pass
    assert path.read_bytes() == content
