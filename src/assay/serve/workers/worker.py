"""A worker process of `assay serve`: answers requests on the supervisor's socket from the indexes that it keeps."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from assay.config.roots import Root
from assay.config.trust import UntrustedSettings
from assay.serve.access import Access
from assay.serve.board import ALIVE, Board
from assay.serve.registry import Registry
from assay.serve.telemetry import AuditLog
from assay.serve.tokens import Tokens
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.web.application import application, board_columns, run
from assay.serve.web.bench import Bench, Registration
from assay.serve.workers.channel import Channel, Look, Message, Registered, Reported, Served, Settings, Started

_THREADS = 2  # of one worker: a tenth less CPU for an answer than with 4, and a slow request still blocks nobody


def main() -> None:
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    warnings.simplefilter("ignore", UntrustedSettings)  # the supervisor has already warned
    messages = channel.messages()
    settings, served = next(messages, None), next(messages, None)
    if not isinstance(settings, Settings) or not isinstance(served, Served):
        return  # the supervisor has ended
    resident = _resident(settings, served, channel)
    threading.Thread(target=_follow, args=(messages, resident), name="assay channel", daemon=True).start()
    board = Board(settings.rows, board_columns(), settings.row, settings.board)
    board.row[ALIVE] = 1.0
    audit = AuditLog(Path(settings.audit_file)) if settings.audit_file else None
    bench = Bench(resident, Path(settings.runs_file), audit, settings.store, _registration(settings, channel))
    app = application(bench, _access(settings), board, settings.started, _THREADS)
    try:
        run(app, socket.socket(fileno=settings.listening), board, lambda: channel.send(Started()))
    finally:
        resident.close()


def _resident(settings: Settings, served: Served, channel: Channel) -> Resident | WorkspaceResident:
    def look(label: str) -> None:
        channel.send(Look(label))

    roots = _roots(served)
    if settings.single:
        return Resident(roots[0].path, settings.index_dir or None, look=lambda: look(""))
    folder = Path(settings.folder) if settings.folder else None
    return WorkspaceResident(roots, folder, partly=True, look=look)


def _roots(served: Served) -> list[Root]:
    return [Root(label, Path(path)) for label, path in served.roots]


def _registration(settings: Settings, channel: Channel) -> Registration | None:
    if not settings.registry_file:
        return None
    allowed = [Path(folder) for folder in settings.allowed]
    return Registration(Registry(Path(settings.registry_file)), allowed, lambda: channel.send(Registered()))


def _access(settings: Settings) -> Access:
    tokens = Tokens(Path(settings.tokens_file)) if settings.tokens_file else None
    names, key = frozenset(settings.names), bytes.fromhex(settings.session_key)
    return Access(settings.host, settings.token, names, tokens, key)


def _follow(messages: Iterator[Message], resident: Resident | WorkspaceResident) -> None:
    """Take the supervisor's news until it ends; then end, too, after the requests under way."""
    for message in messages:
        if isinstance(message, Reported) and message.label in resident.members:
            resident.members[message.label].receive(message.report)
        elif isinstance(message, Served) and isinstance(resident, WorkspaceResident):
            resident.replace_roots(_roots(message))
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
