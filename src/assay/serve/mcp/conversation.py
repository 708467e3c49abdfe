"""Conversations of the MCP server: bodies already sent, and implicit feedback about the items shown."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Self

from assay.api import Repository
from assay.core.items import Item
from assay.core.packs import BODY, NAME, SIGNATURE, PackedItem, Ranked, Source
from assay.errors import AssayError
from assay.serve.watch import Resident, WorkspaceResident
from assay.store.layout import content_hash

SENT = "sent before"
_MAX_CONVERSATIONS = 1_000  # kept at once


class Conversation:
    """Connection of an agent. `name` is its session name in the feedback store."""

    def __init__(self) -> None:
        self.name = f"mcp-{secrets.token_hex(8)}"
        self._sent_hashes: dict[str, bytes] = {}  # item id → content hash of the body sent
        self._lock = threading.Lock()

    def limit_rendering(self, ranked: Sequence[Ranked], source: Source, bodies: bool, repeat: bool) -> list[Ranked]:
        """Limit the rendering of ranked items: no bodies unless requested, names for unchanged bodies already sent."""
        if not bodies:
            return [replace(candidate, most=SIGNATURE) if candidate.most == BODY else candidate for candidate in ranked]
        return list(ranked) if repeat else [self._limit_sent(candidate, source) for candidate in ranked]

    def remember(self, items: Iterable[PackedItem], source: Source) -> None:
        """Record the bodies that were just sent."""
        for packed in items:
            if packed.rendering == BODY or packed.within:
                with self._lock:
                    self._sent_hashes[packed.id] = content_hash(source.text(packed.item).encode())

    def _limit_sent(self, candidate: Ranked, source: Source) -> Ranked:
        sent_hash = self._sent_hashes.get(candidate.item.id)
        if sent_hash is None or content_hash(source.text(candidate.item).encode()) != sent_hash:
            return candidate
        return replace(candidate, most=NAME, why="; ".join(filter(None, (candidate.why, SENT))))


class Conversations:
    """LRU cache of conversations by key."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[str, Conversation] = OrderedDict()

    def of(self, key: str | None) -> Conversation:
        """Return the conversation of a key, created on first use; without a key a new one that is not kept."""
        if key is None:
            return Conversation()
        if key not in self._by_key:
            self._by_key[key] = Conversation()
        self._by_key.move_to_end(key)
        if len(self._by_key) > _MAX_CONVERSATIONS:
            self._by_key.popitem(last=False)
        return self._by_key[key]


# Implicit feedback: items shown in a conversation, and those of them that are edited

_MAX_PENDING = 100  # notes; further ones are dropped until the writer catches up


class UsageLog:
    """Records implicit feedback in order on a background thread, so that answers never wait. Off: records nothing.

    Items shown for a task count as useful when their text has changed by the next task, or by the end.
    """

    def __init__(self, resident: Resident | WorkspaceResident, on: bool = True) -> None:
        self.on = on
        self._repo = resident.own()  # used by the writer thread only
        self._generations: list[str | None] = []
        self._sessions: OrderedDict[str, None] = OrderedDict()  # that were shown something, latest last; of the writer
        self._writer = ThreadPoolExecutor(1, "assay notes")
        self._capacity = threading.Semaphore(_MAX_PENDING)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the served repositories; empty for a single one."""
        return tuple(filter(None, self._repo.members))

    @property
    def ignored_settings(self) -> list[str]:
        """Settings ignored at server start because the user has not trusted them."""
        return self._repo.ignored_settings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Write all pending notes, look for edits once more, and close."""
        self._enqueue(self._find_edits)
        self._writer.shutdown()
        self._repo.close()

    def given(self, session: str, items: Iterable[Item], task: str) -> None:
        """Record that items were shown to a conversation for a task."""
        shown = list(items)

        def write(repo: Repository) -> None:
            self._sessions[session] = None
            self._sessions.move_to_end(session)
            if len(self._sessions) > _MAX_PENDING:
                self._sessions.popitem(last=False)
            repo.note_given(shown, task, session)

        self._enqueue(write)

    def _find_edits(self, repo: Repository) -> None:
        """Record what the sessions were shown and then edited."""
        for label, member in repo.members.items():
            if label and not member.has_feedback:
                continue  # nothing of this repository was shown
            with member.feedback() as store:
                for session in self._sessions:
                    store.used("", session)

    def _enqueue(self, write: Callable[[Repository], None]) -> None:
        if self.on and self._capacity.acquire(blocking=False):
            self._writer.submit(self._write_note, write)

    def _write_note(self, write: Callable[[Repository], None]) -> None:
        """Write a note with the writer's own repository, so that pooled ones stay warm; errors are ignored."""
        self._capacity.release()
        before, self._generations = self._generations, [member.home.named() for member in self._repo.members.values()]
        if before != self._generations:
            self._repo.close()
        with contextlib.suppress(AssayError, OSError):
            write(self._repo)
