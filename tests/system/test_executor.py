"""Executors: the same results, failures and guarantees from a local pool and from Dask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from assay.system import executor as executor_module
from assay.system.cluster import Cluster, ClusterError, ClusterSettings, connect
from assay.system.executor import Executor, LocalPool, UnitFailed, WorkersLost, open_executor
from support import units
from support.command import ENVIRONMENT
from support.dask_processes import DaskProcesses, dask_processes, kill
from support.waiting import until

distributed = pytest.importorskip("distributed", reason="needs the extra 'cluster'")

Open = Callable[..., AbstractContextManager[Executor | None]]


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler and two workers for tests that leave them alive."""
    with dask_processes(tmp_path_factory.mktemp("dask"), workers=2) as processes:
        yield processes


@pytest.fixture(params=["pool", "dask"])
def open_kind(request: pytest.FixtureRequest, dask: DaskProcesses) -> Open:
    settings = ClusterSettings(dask.address) if request.param == "dask" else None
    return lambda session=None: open_executor(2, settings, session)


def test_every_unit_is_yielded_once_with_its_result_or_its_error(open_kind: Open) -> None:
    with open_kind() as executor:
        assert executor is not None
        outcomes = dict(executor.map_units(units.square, ((number,) for number in range(-1, 20))))
    assert outcomes == {(-1,): UnitFailed("-1 is negative")} | {(number,): number**2 for number in range(20)}


def test_units_are_taken_only_as_workers_become_free(open_kind: Open) -> None:
    taken = 0

    def endless() -> Iterator[tuple[int]]:
        nonlocal taken
        while True:
            taken += 1
            yield (taken,)

    with open_kind() as executor:
        assert executor is not None
        outcomes = executor.map_units(units.square, endless())
        for completed, _ in enumerate(outcomes, 1):
            assert taken <= completed + executor.capacity()
            if completed == 10:
                break


def test_a_worker_enters_a_session_once_per_executor(open_kind: Open, tmp_path: Path) -> None:
    for _ in range(2):
        with open_kind(partial(units.session, tmp_path / "log")) as executor:
            assert executor is not None
            before: dict[int, int] = {}
            for _, outcome in executor.map_units(units.times_entered, [()] * 8):
                assert not isinstance(outcome, UnitFailed)
                process, times = outcome
                assert before.setdefault(process, times) == times >= 1


def test_workers_of_another_cluster_leave_their_sessions_with_the_executor(dask: DaskProcesses, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with connect(ClusterSettings(dask.address), partial(units.session, log)) as cluster:
        list(cluster.map_units(units.times_entered, [()] * 8))
        assert "leave" not in log.read_text()

    def every_session_is_left() -> bool:
        lines = log.read_text().splitlines()
        return sorted(line.replace("enter", "leave") for line in lines if "enter" in line) == sorted(
            line for line in lines if "leave" in line
        )

    until(every_session_is_left)


def test_a_worker_leaves_the_session_of_a_client_that_was_lost(dask: DaskProcesses, tmp_path: Path) -> None:
    with mock.patch.object(Cluster, "close"):
        for number in range(2):
            session = partial(units.session, tmp_path / f"log{number}")
            with connect(ClusterSettings(dask.address), session) as cluster:
                list(cluster.map_units(units.times_entered, [()] * 8))
    assert "leave" in (tmp_path / "log0").read_text()


def test_one_job_without_a_cluster_needs_no_other_process() -> None:
    with open_executor(1) as executor:
        assert executor is None


def test_a_killed_process_of_the_pool_is_an_error_that_says_how_to_go_on() -> None:
    with pytest.raises(WorkersLost, match="repeat the command to resume"), LocalPool(2) as pool:
        list(pool.map_units(units.die, ((number,) for number in range(6))))


# --- workers, schedulers and clients that end


def test_a_killed_worker_loses_nothing_and_repeats_at_most_the_units_under_way(tmp_path: Path) -> None:
    with dask_processes(tmp_path, workers=2) as processes, connect(ClusterSettings(processes.address)) as cluster:
        until(lambda: len(cluster._client.nthreads()) == 2)
        results = []
        for (_, number, _), outcome in cluster.map_units(units.log_start, [(tmp_path, n, 0.2) for n in range(14)]):
            assert outcome == number
            results.append(number)
            if len(results) == 4:
                kill(processes.workers[0])
        started = [int(line.split()[0]) for line in (tmp_path / "started").read_text().splitlines()]
    assert sorted(results) == list(range(14))
    assert set(started) == set(range(14))
    assert len(started) - 14 <= 2  # the one at work and one whose result was not fetched yet


def test_a_unit_that_kills_its_workers_costs_only_itself() -> None:
    with connect(ClusterSettings("local:2")) as cluster:
        outcomes = {number: outcome for (number,), outcome in cluster.map_units(units.die, [(n,) for n in range(6)])}
    assert isinstance(outcomes.pop(3), UnitFailed)
    assert outcomes == {number: number for number in (0, 1, 2, 4, 5)}


def test_a_worker_above_its_memory_limit_is_restarted_and_its_unit_fails_with_a_reason() -> None:
    settings = ClusterSettings("local:1", memory="400 MB")
    with mock.patch("assay.system.cluster._ALLOWED_FAILURES", 0), connect(settings) as cluster:
        outcomes = {
            n: outcome for (n, _), outcome in cluster.map_units(units.hog, [(n, 500_000_000) for n in range(3)])
        }
    assert outcomes.pop(0) == UnitFailed("its workers were killed, again and again, perhaps out of memory")
    assert outcomes == {1: 1, 2: 2}


def test_a_lost_scheduler_ends_the_work_with_an_error_that_says_how_to_go_on(tmp_path: Path) -> None:
    with dask_processes(tmp_path, workers=1) as processes, connect(ClusterSettings(processes.address)) as cluster:
        outcomes = cluster.map_units(units.log_start, [(tmp_path, n, 0.1) for n in range(50)])
        next(outcomes)
        assert processes.scheduler is not None
        kill(processes.scheduler)
        with pytest.raises(WorkersLost, match=r"connection to the scheduler is lost.*repeat the command"):
            list(outcomes)


def test_a_straggler_is_repeated_on_an_idle_worker_and_the_first_result_counts(
    dask: DaskProcesses, tmp_path: Path
) -> None:
    with (
        mock.patch.object(executor_module, "_STRAGGLER_SECONDS", 1.0),
        dask_processes(tmp_path, workers=2) as processes,
        connect(ClusterSettings(processes.address)) as cluster,
    ):
        until(lambda: len(cluster._client.nthreads()) == 2)
        outcomes = [
            outcome for _, outcome in cluster.map_units(units.hang_in_first_process, [(tmp_path, n) for n in range(6)])
        ]
        assert sorted(map(str, outcomes)) == list("012345")


# --- what is refused


def test_a_worker_with_another_version_is_refused_before_the_first_unit(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import assay\nassay.__version__ = '0.0.1'\n")
    with dask_processes(tmp_path) as processes:
        processes.start_worker(PYTHONPATH=str(tmp_path))
        settings = ClusterSettings(processes.address)
        with pytest.raises(ClusterError, match=r"the worker tcp://\S+ has assay 0\.0\.1 instead of"), connect(settings):
            pass


def test_a_cluster_that_does_not_answer_or_has_no_workers_is_named(tmp_path: Path) -> None:
    with mock.patch("assay.system.cluster._CONNECT_SECONDS", 1.0):
        with (
            pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9: cannot connect"),
            connect(ClusterSettings("tcp://127.0.0.1:9")),
        ):
            pass
        with dask_processes(tmp_path) as processes:
            settings = ClusterSettings(processes.address)
            with pytest.raises(ClusterError, match="no workers; start some with: dask worker"), connect(settings):
                pass


def test_a_cluster_with_tls_accepts_only_clients_with_a_certificate_of_its_authority(tmp_path: Path) -> None:
    files = {}
    for who in ("ours", "other"):
        security = distributed.Security.temporary()
        for name, content in {"ca": security.tls_ca_file, "key": security.tls_client_key}.items():
            files[who, name] = str(tmp_path / f"{who}-{name}.pem")
            Path(files[who, name]).write_text(content)
    ca, key = files["ours", "ca"], files["ours", "key"]  # self-signed: the certificate is its own authority
    tls = ("--protocol", "tls", "--tls-ca-file", ca, "--tls-cert", ca, "--tls-key", key)
    with dask_processes(tmp_path, workers=1, tls=tls) as processes:
        assert processes.address.startswith("tls://")
        with connect(ClusterSettings(processes.address, ca_file=ca, certificate=ca, key=key)) as cluster:
            assert [outcome for _, outcome in cluster.map_units(units.square, [(3,)])] == [9]
        other = ClusterSettings(
            processes.address, ca_file=ca, certificate=files["other", "ca"], key=files["other", "key"]
        )
        with (
            mock.patch("assay.system.cluster._CONNECT_SECONDS", 3.0),
            pytest.raises(ClusterError, match="cannot connect"),
            connect(other),
        ):
            pass


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("local:0", "no cluster"),
        ("local:x", "no cluster"),
        ("local:99999999999999999999", "no cluster"),
        ("http://127.0.0.1:80", "no cluster"),
        ("tcp://127.0.0.1", "no cluster"),
        ("tcp://127.0.0.1:99999", "no cluster"),
        ("tcp://me:secret@127.0.0.1:8786", "no cluster"),
        ("tcp://[::1", "no cluster"),
        ("inproc://x", "no cluster"),
        ("tcp://cluster.example.com:8786", "without TLS"),
        ("tls://cluster.example.com:8786", "set ca_file, certificate and key"),
    ],
)
def test_an_address_that_is_malformed_or_not_secure_is_refused(address: str, says: str) -> None:
    with pytest.raises(ClusterError, match=says):
        ClusterSettings(address)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['dask'] = None\n"
        "from assay.system.cluster import *\n"
        "try:\n    connect(ClusterSettings('local')).__enter__()\n"
        "except ClusterError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout == "--cluster needs Dask: pip install distributed cryptography\n"
