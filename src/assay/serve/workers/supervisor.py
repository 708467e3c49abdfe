"""The parent process of `assay serve --workers N`: owns the socket and the indexes, starts and replaces workers.

SIGTERM, Ctrl-C   stop: workers finish requests under way within STOP_SECONDS
SIGHUP            read the configuration again and replace the workers one after the other; connections are accepted
                  all the time, as all processes share one listening socket
a worker ends     another one is started, after a pause that doubles with every crash in a row
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from assay.config.roots import Root
from assay.errors import AssayError
from assay.serve.board import RESTARTS, Board, board_file
from assay.serve.registry import RegistryWatcher
from assay.serve.watch.upkeep import IndexReport, Upkeep
from assay.serve.web.application import STOP_SECONDS, board_columns
from assay.serve.workers.channel import Channel, Look, Registered, Reported, Served, Settings, Started
from assay.serve.workers.plan import Plan
from assay.store.layout import Home
from assay.system.programs import child_environment

_START_SECONDS = 60.0  # for a worker to accept connections, on a busy machine
_KILL_SECONDS = STOP_SECONDS + 4.0  # from SIGTERM to SIGKILL; closing an index takes a moment, too
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before a crashed worker is started again
_STABLE_SECONDS = 60.0  # after which a crash is the first one again
_MAX_FAILED_STARTS = 5  # in a row, while no worker has ever started: the reason will not go away
_TICK_SECONDS = 0.1
_SHARES_SOCKETS = os.name == "posix"


@dataclass(eq=False)
class _Worker:
    """A running worker and the row of the board that it writes to."""

    process: subprocess.Popen[bytes]
    channel: Channel
    row: int
    began: float = field(default_factory=time.monotonic)
    started: bool = False
    dismissed: bool = False  # it was told to end

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def dismiss(self) -> None:
        self.dismissed = True
        with contextlib.suppress(OSError):
            self.process.terminate()

    def __str__(self) -> str:
        code = self.process.returncode
        reason = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"worker {self.process.pid} ended ({reason})"


class Supervisor:
    """Runs workers on a listening socket until it is stopped."""

    def __init__(self, plan: Plan, listening: socket.socket, workers: int, say: Callable[[str], None]) -> None:
        """Set up; `say` prints a line. Raises AssayError where processes cannot share a socket."""
        if not _SHARES_SOCKETS:
            raise AssayError(
                "--workers needs Linux or macOS, where processes share a listening socket. Leave it out, or start "
                "several servers on different ports behind a proxy"
            )
        self._plan, self._listening, self._count, self._say = plan, listening, workers, say
        self._rows = 2 * workers + 2  # also for those that end while others start; the last for the supervisor
        self._file = board_file(self._rows, board_columns())
        self._board = Board(self._rows, board_columns(), self._rows - 1, self._file.fileno())
        self._reread = plan.reread()
        self._began = time.time()
        self._events: SimpleQueue[str] = SimpleQueue()  # names of signals; unlike other queues, handlers may put
        self._lock = threading.RLock()  # guards the fields below
        self._workers: list[_Worker] = []
        self._upkeeps: dict[str, tuple[Path, Upkeep]] = {}
        self._crashes, self._start_at, self._ever_started = 0, 0.0, False
        self._stopping = False

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C. Raises AssayError if no worker can start."""
        self._set_roots(self._plan.roots)
        registry = self._plan.registry
        watcher = RegistryWatcher(registry, self._read_registry) if registry else None
        try:
            with self._signals():
                self._keep_workers()
        finally:
            if watcher:
                watcher.close()
            self._stop()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        names: dict[int, str] = {signal.SIGTERM: "stop", signal.SIGINT: "stop", signal.SIGHUP: "replace"}
        before = {number: signal.signal(number, lambda n, _: self._events.put(names[n])) for number in names}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _keep_workers(self) -> None:
        while not self._stopping:
            self._tend()
            try:
                event = self._events.get(timeout=_TICK_SECONDS)
            except Empty:
                continue
            if event == "stop":
                self._stopping = True
            else:
                self._replace_workers()

    # workers

    def _tend(self) -> None:
        """Remove ended workers and start missing ones, after a pause if they crashed."""
        with self._lock:
            for worker in [worker for worker in self._workers if worker.ended]:
                self._forget(worker)
            active = [worker for worker in self._workers if not worker.dismissed]
            missing = self._count - len(active)
        for worker in active[: max(0, -missing)]:  # one crashed while it was being replaced
            worker.dismiss()
        while missing > 0 and time.monotonic() >= self._start_at:
            self._start_worker()
            missing -= 1

    def _forget(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.channel.close()
        self._board.clear(worker.row)
        if worker.dismissed:
            return
        lived = time.monotonic() - worker.began
        self._crashes = self._crashes + 1 if lived < _STABLE_SECONDS else 1
        if not self._ever_started and self._crashes >= _MAX_FAILED_STARTS:
            raise AssayError(f"no worker starts: {worker}; the lines above say why")
        pause = min(_FIRST_PAUSE * 2 ** (self._crashes - 1), _LONGEST_PAUSE)
        self._start_at = time.monotonic() + pause
        self._board.row[RESTARTS] += 1
        self._say(f"{worker}; another one starts in {pause:g} s")

    def _start_worker(self) -> _Worker:
        parent_end, worker_end = socket.socketpair()
        with self._lock:
            row = min(set(range(self._rows - 1)) - {worker.row for worker in self._workers})
            self._board.clear(row)
            command = [sys.executable, "-P", "-m", "assay.serve.workers.worker", str(worker_end.fileno())]
            descriptors = (worker_end.fileno(), self._listening.fileno(), self._file.fileno())
            # own session: Ctrl-C reaches only the supervisor, which lets workers finish
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                env=child_environment(),
                start_new_session=True,
            )
            worker_end.close()
            worker = _Worker(process, Channel(parent_end), row)
            worker.channel.send(self._settings(row))
            worker.channel.send(self._served())
            for label, (_, upkeep) in self._upkeeps.items():
                worker.channel.send(Reported(label, upkeep.report))
            self._workers.append(worker)
        threading.Thread(target=self._listen_to, args=(worker,), name="assay worker", daemon=True).start()
        return worker

    def _replace_workers(self) -> None:
        """Replace the workers one after the other; keep the old ones if a new one does not start."""
        try:
            self._reread = self._plan.reread()
        except AssayError as error:
            self._say(f"the configuration is not read again: {error}")
            return
        self._read_registry()
        for old in [worker for worker in self._workers if not worker.dismissed]:
            new = self._start_worker()
            self._wait(lambda new=new: new.started or new.ended, _START_SECONDS)  # type: ignore[misc]
            if self._stopping or not new.started:
                new.dismiss()
                if not self._stopping:
                    self._say("a new worker did not start; the others go on as before")
                return
            old.dismiss()
            if not self._wait(lambda old=old: old.ended, _KILL_SECONDS):  # type: ignore[misc]
                old.process.kill()
                old.process.wait()
            self._tend()
        self._say(f"{self._count} workers replaced")

    def _wait(self, happened: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition; a request to stop ends it, others remain for later."""
        deadline, later = time.monotonic() + seconds, list[str]()
        while not happened() and not self._stopping and time.monotonic() < deadline:
            with contextlib.suppress(Empty):
                event = self._events.get(timeout=_TICK_SECONDS)
                if event == "stop":
                    self._stopping = True
                else:
                    later.append(event)
        if later:
            self._events.put(later[-1])
        return happened()

    def _stop(self) -> None:
        """Refuse new connections, let workers finish, and end everything that was started."""
        self._listening.close()
        with self._lock:
            workers, upkeeps = list(self._workers), [upkeep for _, upkeep in self._upkeeps.values()]
        for worker in workers:
            worker.dismiss()
        deadline = time.monotonic() + _KILL_SECONDS
        for worker in workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.channel.close()
        for upkeep in upkeeps:
            upkeep.close()
        self._file.close()

    def _settings(self, row: int) -> Settings:
        plan, access = self._plan, self._plan.access
        return Settings(
            listening=self._listening.fileno(),
            board=self._file.fileno(),
            rows=self._rows,
            row=row,
            started=self._began,
            host=access.host,
            token=access.token,
            names=sorted(access.names),
            tokens_file=str(access.tokens.path.absolute()) if access.tokens else "",
            session_key=access.session_key.hex(),
            single=plan.single,
            index_dir=str(plan.index_dir.absolute()) if plan.index_dir else "",
            folder=str(plan.folder) if plan.folder else "",
            runs_file=str(plan.runs_file),
            store=self._reread.store,
            audit_file=str(plan.audit_file.absolute()) if plan.audit_file else "",
            registry_file=str(plan.registry.path) if plan.registry else "",
            allowed=[str(folder) for folder in self._reread.allowed],
        )

    def _listen_to(self, worker: _Worker) -> None:
        for message in worker.channel.messages():
            if isinstance(message, Started):
                worker.started = self._ever_started = True
            elif isinstance(message, Look):
                with self._lock:
                    _, upkeep = self._upkeeps.get(message.label, (None, None))
                if upkeep:
                    upkeep.look()
            elif isinstance(message, Registered):
                self._read_registry()

    # indexes

    def _read_registry(self) -> None:
        roots = self._plan.registered(self._say)
        if roots is not None:
            self._set_roots(roots)

    def _set_roots(self, roots: Sequence[Root]) -> None:
        """Keep the indexes of these repositories, and tell all workers."""
        with self._lock:
            if self._stopping:
                return
            before, self._upkeeps = self._upkeeps, {}
            new = list[Upkeep]()
            for root in roots:
                path, upkeep = before.get(root.label, (None, None))
                if upkeep is None or path != root.path:
                    home = Home.of(root.path, self._plan.index_dir if not root.label else None)
                    upkeep = Upkeep(root.path, home, self._plan.watch, self._teller(root.label))
                    new.append(upkeep)
                self._upkeeps[root.label] = (root.path, upkeep)
            if before != self._upkeeps:
                self._send_all(self._served())
            gone = [
                upkeep for label, (_, upkeep) in before.items() if upkeep is not self._upkeeps.get(label, ("", 0))[1]
            ]
        for upkeep in new:
            upkeep.start()
        for upkeep in gone:
            upkeep.close()

    def _served(self) -> Served:
        return Served([(label, str(path)) for label, (path, _) in self._upkeeps.items()])

    def _teller(self, label: str) -> Callable[[IndexReport], None]:
        return lambda report: self._send_all(Reported(label, report))

    def _send_all(self, message: Served | Reported) -> None:
        with self._lock:
            for worker in self._workers:
                if not worker.channel.send(message) and not worker.ended:
                    worker.process.kill()  # it reads nothing any more; another one takes its place
