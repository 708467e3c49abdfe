"""Cluster: units of work on Dask distributed, the `cluster` extra.

A local cluster is started for one command: worker processes on loopback that accept only their own throw-away
certificate, since whoever reaches a scheduler can run code on its workers. Another cluster is connected to by its
address. Scheduler, workers and this process must have the same software, which is compared before the first unit, and
by each worker before each unit, as workers may join later.
"""

from __future__ import annotations

import functools
import importlib
import logging
import multiprocessing
import platform
import signal
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from assay import __version__
from assay.errors import AssayError, install
from assay.system.executor import Executor, Session, Unit, UnitFailed, WorkerKilled, WorkersLost, apply
from assay.system.http import is_loopback

LOCAL = "local"
_CONNECT_SECONDS = 10.0  # for the scheduler to answer, and again for a first worker to register
_REFRESH_SECONDS = 2.0  # between counts of the workers
_IDLE_SECONDS = 60.0  # without any worker, before giving up: a manager of workers may be starting new ones
_ALLOWED_FAILURES = 3  # workers of a local cluster that a unit may lose, as is the default of Dask schedulers
_CLOSE_SECONDS = 5.0  # for a local cluster to end; its processes are killed after that
_WORKER_PROCESS = "Dask Worker"  # how Dask names the processes of its workers
# of the workers of a local cluster. Dask's default also sets MALLOC_TRIM_THRESHOLD_, with which glibc maps and unmaps the
# memory of each larger array
_LOCAL_ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# package → number of version parts that must be equal: pickled data, results and messages depend on them
_COMPARED = {"numpy": 1, "msgspec": 1, "distributed": 3}


class ClusterError(AssayError):
    """A cluster that cannot be used."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Address of a cluster and the user's settings for it."""

    address: str  # local, local:N, tcp://HOST:PORT or tls://HOST:PORT
    memory: str = ""  # limit per worker of a local cluster; empty: an equal share of the machine's
    ca_file: str = ""
    certificate: str = ""
    key: str = ""
    allow_tcp: bool = False  # permits other machines without TLS

    def __post_init__(self) -> None:
        """Raise ClusterError for an address that is malformed or not allowed."""
        if self.local_workers is not None:
            return
        try:
            place = urlsplit(self.address)
            host, port = place.hostname, place.port
        except ValueError:
            host = port = None
        if not host or not port or place.scheme not in ("tcp", "tls") or place.username is not None or place.path:
            raise ClusterError(
                f"'{self.address}': no cluster; write local, local:4, tcp://HOST:8786, tls://HOST:8786 or none"
            )
        if place.scheme == "tcp" and not is_loopback(host) and not self.allow_tcp:
            raise ClusterError(
                f"{self.address}: without TLS, everyone on the network can run code on the cluster; use tls:// "
                "(or set allow_tcp = true under [cluster] in the user configuration)"
            )
        if place.scheme == "tls" and not (self.ca_file and self.certificate and self.key):
            raise ClusterError(
                f"{self.address}: set ca_file, certificate and key under [cluster] in the user configuration"
            )

    @property
    def local_workers(self) -> int | None:
        """The number of workers of a local cluster; None for another cluster."""
        kind, colon, number = self.address.partition(":")
        if kind != LOCAL or (colon and not (number.isascii() and number.isdecimal() and 0 < int(number[:9]) < 1000)):
            return None
        return int(number) if colon else multiprocessing.cpu_count()


@functools.cache
def software() -> Mapping[str, str]:
    """Return the versions that must be equal in all processes of a cluster."""
    versions = {"assay": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for package, parts in _COMPARED.items():
        version = str(importlib.import_module(package).__version__)
        versions[package] = ".".join(version.split(".")[:parts])
    return versions


def _differences(place: str, versions: object) -> str:
    """Describe how the software of a process differs from ours; empty if it does not."""
    if not isinstance(versions, Mapping):
        return f"{place} cannot import assay {__version__} ({str(versions).splitlines()[0] if str(versions) else versions!r})"
    pairs = [(name, version, versions.get(name, "none")) for name, version in software().items()]
    listed = ", ".join(f"{name} {other} instead of {version}" for name, version, other in pairs if other != version)
    return f"{place} has {listed}" if listed else ""


# In a worker

_units = threading.Lock()  # a worker with several threads applies one unit at a time, like a process of the local pool
_session = ("", ExitStack())  # the executor that this process holds a session for, and the session


def _work(
    expected: Mapping[str, str],
    executor: str,
    session: Session | None,
    function: Callable[..., Any],
    unit: Unit,
) -> Any:
    """Apply a unit in a worker, after entering the session of its executor."""
    if different := [name for name, version in expected.items() if software().get(name) != version]:
        return UnitFailed(f"the worker on {platform.node()} has another version of {', '.join(different)}")
    with _units:
        # Dask's workers are daemonic, which only says that they may have no children; indexing parses in some
        multiprocessing.current_process().daemon = False
        if session is not None and isinstance(failure := apply(_enter, (executor, session)), UnitFailed):
            return failure
        return apply(function, unit)


def _enter(executor: str, session: Session) -> None:
    """Enter the session of an executor, unless it is open, and leave that of an earlier one, whose client may be gone."""
    global _session
    if _session[0] == executor:
        return
    _leave(_session[0])
    opened = ExitStack()
    opened.enter_context(session())
    _session = executor, opened


def _leave(executor: str) -> None:
    """Leave the session of an executor, if it is open."""
    global _session
    if _session[0] == executor:
        opened = _session[1]
        _session = "", ExitStack()
        opened.close()


def _end_session(executor: str) -> None:
    """Leave a session when its executor ends; a unit of this worker."""
    with _units:
        apply(_leave, (executor,))


def _same(value: Any) -> Any:
    return value


def dask_setup(worker: Any) -> None:
    """Let a worker of a local cluster ignore Ctrl-C, which a terminal sends to it, too; the command ends it. Dask calls it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# In the client


class Cluster(Executor):
    """Dask workers. The scheduler gives the unit of a lost worker to another one, a bounded number of times."""

    repeats_stragglers = True

    def __init__(self, client: Any, name: str, session: Session | None, ends_workers: bool) -> None:
        self._client, self._name, self._ends_workers = client, name, ends_workers
        self._id = uuid.uuid4().hex
        self._submitted = 0
        self._workers, self._counted, self._seen = 1, 0.0, time.monotonic()
        # a computed value, not a scattered one, so that it survives the worker that holds it
        self._session = client.submit(_same, session, key=f"assay-session-{self._id}") if session else None

    @property
    def workers(self) -> int:
        now = time.monotonic()
        if now - self._counted > _REFRESH_SECONDS:
            self._counted = now
            number = len(self._ask(self._client.nthreads))
            self._seen = now if number else self._seen
            self._workers = max(1, number)
        return self._workers

    def check(self) -> None:
        if self._client.status != "running":
            raise self._lost()
        if self.workers and time.monotonic() - self._seen > _IDLE_SECONDS:
            raise WorkersLost(
                f"{self._name}: no worker is left. Results so far are stored; start workers, then repeat the command"
            )

    def submit(self, function: Callable[..., Any], unit: Unit) -> Any:
        self._submitted += 1
        return self._ask(
            self._client.submit, _work, dict(software()), self._id, self._session, function, unit,
            key=f"assay-{function.__name__}-{self._id}-{self._submitted}", pure=False,
        )  # fmt: skip

    def cancel(self, future: Any) -> None:
        if self._client.status == "running":
            with suppress(WorkersLost):
                self._ask(future.cancel, force=True)

    def result(self, future: Any) -> Any:
        from distributed import KilledWorker

        try:
            return self._ask(future.result)
        except KilledWorker:
            raise WorkerKilled("its workers were killed, again and again, perhaps out of memory") from None

    def close(self, interrupted: bool) -> None:
        """Let the workers of another cluster leave their sessions; `connect` closes what it has opened."""
        if self._session is None or self._ends_workers or self._client.status != "running":
            return
        distributed: Any = importlib.import_module("distributed")
        with suppress(WorkersLost):
            for number, worker in enumerate(self._ask(self._client.nthreads)):
                key = f"assay-end-{self._id}-{number}"
                # not awaited: a worker may still be busy with a unit that was cancelled
                distributed.fire_and_forget(
                    self._ask(self._client.submit, _end_session, self._id, key=key, workers=[worker])
                )

    def _ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (CancelledError, TimeoutError, OSError):
            raise self._lost() from None
        except RuntimeError as error:  # of a client that has closed itself
            if self._client.status == "running":
                raise
            raise self._lost() from error

    def _lost(self) -> WorkersLost:
        return WorkersLost(
            f"{self._name}: the connection to the scheduler is lost. Results so far are stored; repeat the command to resume"
        )


@contextmanager
def connect(settings: ClusterSettings, session: Session | None = None) -> Iterator[Cluster]:
    """Connect to a cluster, or start a local one that ends with the block. Raises ClusterError."""
    try:
        import dask

        # one line of ours for the user, instead of logs of several processes; set before distributed reads them
        dask.config.set({"logging": {"distributed": "critical", "distributed.client": "critical"}})
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ClusterError(f"--cluster needs Dask: {install('cluster')}") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as opened:
        number = settings.local_workers
        name = settings.address if number is None else f"the local cluster of {number}"
        try:
            if number is None:
                client = distributed.Client(
                    settings.address,
                    timeout=_CONNECT_SECONDS,
                    security=_security(distributed, settings),
                    set_as_default=False,
                )
            else:
                client = _start_local(distributed, dask, settings, number, opened)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"{name}: cannot connect ({_first_line(error)})") from None
        opened.callback(_close, client)
        _check_software(client, name)
        cluster = Cluster(client, name, session, ends_workers=number is not None)
        with cluster:
            yield cluster


def _start_local(distributed: Any, dask: Any, settings: ClusterSettings, number: int, opened: ExitStack) -> Any:
    """Start workers on loopback and return a client; both end with `opened`."""
    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise ClusterError(f"--cluster local needs certificates: {install('cluster')}") from None
    scratch = opened.enter_context(tempfile.TemporaryDirectory(prefix="assay-cluster-", ignore_cleanup_errors=True))
    opened.enter_context(
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": _ALLOWED_FAILURES,
                # no pages for other users of this machine; Dask listens anyway, at any port of loopback
                "distributed.scheduler.http.routes": [],
                "distributed.worker.http.routes": [],
                # for those pages: samples the threads of a worker a hundred times a second
                "distributed.worker.profile.enabled": False,
                "distributed.worker.preload": [__name__],  # calls dask_setup
                # looks at a blocked event loop, fifty times a second in each process
                "distributed.admin.tick.interval": "1s",
                "distributed.nanny.pre-spawn-environ": _LOCAL_ENVIRONMENT,
            }
        )
    )
    memory = {"memory_limit": settings.memory} if settings.memory else {}
    workers = distributed.LocalCluster(
        n_workers=number, threads_per_worker=1, processes=True, host="127.0.0.1", security=security,
        dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}, local_directory=scratch,
        silence_logs=logging.CRITICAL, **memory,
    )  # fmt: skip
    opened.callback(_end, workers)
    # results come from the workers, not through the scheduler
    return distributed.Client(workers, timeout=_CONNECT_SECONDS, set_as_default=False, direct_to_workers=True)


def _security(distributed: Any, settings: ClusterSettings) -> Any:
    if not settings.address.startswith("tls:"):
        return None
    return distributed.Security(
        tls_ca_file=settings.ca_file, tls_client_cert=settings.certificate, tls_client_key=settings.key,
        require_encryption=True,
    )  # fmt: skip


def _check_software(client: Any, name: str) -> None:
    """Raise ClusterError if there is no worker, or if the scheduler or a worker has other software than this process."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError:
        raise ClusterError(f"{name}: no workers; start some with: dask worker {name}") from None
    try:
        scheduler = client.run_on_scheduler(software)
    except Exception as error:  # whatever importing raises over there
        scheduler = error
    workers = client.run(software, on_error="return")
    places = {"the scheduler": scheduler, **{f"the worker {address}": facts for address, facts in workers.items()}}
    if differences := [text for place, facts in places.items() if (text := _differences(place, facts))]:
        raise ClusterError(f"{name}: {'; '.join(differences[:3])}. Install the same versions everywhere")


def _close(client: Any) -> None:
    """Cancel everything of the client and disconnect; units under way on another cluster end by themselves."""
    futures = list(client.futures)
    if client.status == "running" and futures:
        client.cancel(futures, force=True)
    with suppress(TimeoutError):  # a scheduler that does not answer
        client.close(timeout=_CLOSE_SECONDS)


def _end(workers: Any) -> None:
    """End a local cluster; kill the processes of one that takes too long, as on a busy machine."""
    before = multiprocessing.active_children()
    try:
        workers.close(timeout=_CLOSE_SECONDS)
    except TimeoutError:
        for child in before:
            if child.name.startswith(_WORKER_PROCESS):
                child.kill()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
