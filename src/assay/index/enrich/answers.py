"""Ask a language server for the definition behind every reference of a file, through a cache keyed by content.

Answers are stored file by file as they come, so that an interrupted run continues where it stopped. A file that crashes
the server costs itself; a server that keeps failing is given up, and what was answered before is kept.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from assay.core.progress import Progress
from assay.index.enrich.lsp import Location, Server
from assay.index.enrich.places import Tree
from assay.index.enrich.process import ToolFailed, started
from assay.index.enrich.tools import Program
from assay.index.facts import ACCESS, CALL, DECORATE, MENTION, NEW, THROW
from assay.index.version import extractor_version
from assay.store.caches import DiskCache
from assay.store.seal import code

NAME = "enrich.db"
OUTSIDE = "external:"  # the definition is outside the repository
LOCAL = ""  # … in the repository, but not an item: a local variable, a parameter
Targets = list[tuple[int, list[str]]]  # number of the reference in its file, ids of the items or one of the above

_MAX_FAILURES = 3  # crashes and timeouts after which a server is given up
# calls first: where time is short, they matter most
_ASKED = {CALL: 0, NEW: 0, DECORATE: 1, THROW: 1, ACCESS: 2, MENTION: 2}
_LANGUAGE_IDS = {"tsx": "typescriptreact", "bash": "shellscript"}  # where the protocol has another name
_TABLE = "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, targets BLOB, day INTEGER, sum INTEGER)"
_UNUSED_DAYS = 90  # asking again takes minutes, so answers are kept longer than parses
_decode = msgspec.msgpack.Decoder(list[tuple[int, list[str]]]).decode


class AnswerCache(DiskCache):
    """On-disk cache from a file's path and content, the tool and its version to the targets of its references."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / NAME, (_TABLE,))
        self._today = int(time.time() // 86400)

    @staticmethod
    def key(path: str, digest: bytes, tool: str, version: str) -> bytes:
        parts = [path.encode("utf-8", "surrogatepass"), digest, tool.encode(), version.encode()]
        return blake2b(b"\0".join([*parts, extractor_version().encode()]), digest_size=16).digest()

    def get(self, key: bytes) -> Targets | None:
        rows = self.read("SELECT targets, sum FROM answers WHERE key = ?", (key,))
        if not rows or rows[0][1] != code(key, rows[0][0]):  # made by someone else
            return None
        with contextlib.suppress(msgspec.MsgspecError):
            return _decode(rows[0][0])
        return None

    def put(self, key: bytes, targets: Targets) -> None:
        data = msgspec.msgpack.encode(targets)
        self.write("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", [(key, data, self._today, code(key, data))])

    def prune(self) -> None:
        self.write("DELETE FROM answers WHERE day < ?", [(self._today - _UNUSED_DAYS,)])


class Replies(msgspec.Struct):
    """The outcome of asking: targets by file, and what went wrong."""

    answers: dict[str, Targets]
    problems: list[str]
    reused: int = 0  # files whose answers came from the cache


def ask_server(
    program: Program,
    version: str,
    tree: Tree,
    paths: Sequence[str],
    cache: AnswerCache,
    deadline: float,
    progress: Progress,
) -> Replies:
    """Ask a language server about files; those with cached answers are not opened."""
    replies = Replies({}, [])
    progress.start(program.tool.name, len(paths))
    waiting = []
    for path in paths:
        key = cache.key(path, tree.index.files[path].hash, program.tool.name, version)
        targets = cache.get(key)
        if targets is None:
            waiting.append((path, key))
        else:
            replies.answers[path] = targets
            replies.reused += 1
            progress.advance()
    failures = 0
    while waiting and failures < _MAX_FAILURES and time.monotonic() < deadline:
        failures += _ask_until_failure(program, tree, waiting, cache, deadline, replies, progress)
    if waiting:
        reason = "the deadline" if time.monotonic() >= deadline else f"{_MAX_FAILURES} failures"
        replies.problems.append(f"{len(waiting)} of {len(paths)} files not asked after {reason}; run again to continue")
    return replies


def _ask_until_failure(
    program: Program,
    tree: Tree,
    waiting: list[tuple[str, bytes]],
    cache: AnswerCache,
    deadline: float,
    replies: Replies,
    progress: Progress,
) -> int:
    """Start the server and ask until all files are done (0) or it fails (1); the file that it failed on is dropped."""
    tool = program.tool
    path = ""
    try:
        with started([str(program.path), *tool.arguments], tool.environment, talk=True) as process:
            server = Server(process, tree.root, _filled(tool.settings, program), deadline)
            server.initialize(_filled(tool.options, program), tool.loads)
            while waiting:
                path, key = waiting[0]
                targets = _ask_file(server, tree, path)
                waiting.pop(0)
                if targets is not None:
                    replies.answers[path] = targets
                    cache.put(key, targets)
                progress.advance()
    except ToolFailed as error:
        if time.monotonic() < deadline:
            replies.problems.append(f"{f'{path}: ' if path else ''}{error}")
            if path:
                waiting.pop(0)
                progress.advance()
        return 1
    return 0


def _filled(value: Any, program: Program) -> Any:
    """Fill in the placeholders of options and settings."""
    if isinstance(value, str):
        return program.companion if value == "{companion}" else program.python if value == "{python}" else value
    if isinstance(value, list):
        return [_filled(element, program) for element in value]
    if hasattr(value, "items"):
        return {name: _filled(element, program) for name, element in value.items()}
    return value


def _ask_file(server: Server, tree: Tree, path: str) -> Targets | None:
    """Return the targets of a file's references; None if it changed since it was indexed."""
    text = tree.text(path)
    if text is None:
        return None
    rows = sorted(
        (_ASKED[reference.role], number, place)
        for number, (reference, place) in enumerate(
            zip(tree.references[path], tree.places[path].references, strict=True)
        )
        if place is not None and reference.role in _ASKED
    )
    if not rows:
        return []
    language = tree.files[path].facts.language
    uri = server.open(tree.root / path, _LANGUAGE_IDS.get(language, language), text.decode("utf-8", "replace"))
    located = server.definitions(uri, [(place.line, place.column) for _, _, place in rows])
    server.close(uri)
    of = _Resolver(tree)
    return sorted(
        (number, targets) for (_, number, _), places in zip(rows, located, strict=True) if (targets := of(places))
    )


class _Resolver:
    """Maps locations to items."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self._root = tree, Path(os.path.realpath(tree.root))

    def __call__(self, locations: Sequence[Location]) -> list[str]:
        """Return the items at the locations; if there are none, LOCAL or OUTSIDE; nothing without a location."""
        items, inside, outside = list[str](), False, False
        for location in locations:
            path = self._relative(location.path)
            if path is None:
                outside = True
                continue
            inside = True
            item = self._tree.item_at(path, location.line, location.column)
            if item is not None:
                items.append(item)
        return list(dict.fromkeys(items)) or ([LOCAL] if inside else [OUTSIDE] if outside else [])

    def _relative(self, path: str) -> str | None:
        """Return the path in the index; None for a file outside it."""
        for root in (self._tree.root, self._root):
            with contextlib.suppress(ValueError):
                relative = Path(path).relative_to(root).as_posix()
                return relative if relative in self._tree.index.files else None
        return None
