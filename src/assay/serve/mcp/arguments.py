"""Per-call building blocks of the MCP tools: argument schemas, token budgets, usage notes, and bodies already sent."""

from __future__ import annotations

import contextlib
import secrets
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta

from assay import feedback as learn
from assay.api import Repository
from assay.core.items import Item
from assay.core.packs import BODY, NAME, SIGNATURE, PackedItem, Ranked, Source
from assay.errors import AssayError
from assay.serve.watch import Resident, WorkspaceResident
from assay.store.layout import LEARNED, content_hash
from assay.text.display import printable
from assay.text.tokens import count

MIN_BUDGET = 100  # tokens: less holds neither results nor a hint
_LEFT_OUT = "… {} more; ask with a larger budget\n"


def fit_to_budget(head: str, pieces: Sequence[str], budget: int) -> str:
    """Join a head and as many pieces, best first, as fit into the budget; append the number left out."""
    texts = [printable(piece) for piece in pieces]
    head = truncate_lines(printable(head), budget)
    remaining = budget - count(head)
    costs = [count(text) for text in texts]
    if sum(costs) <= remaining:
        return head + "".join(texts)
    remaining -= count(_LEFT_OUT.format(len(texts)))
    shown = 0
    while shown < len(texts) and costs[shown] <= remaining:
        remaining -= costs[shown]
        shown += 1
    return head + "".join(texts[:shown]) + (_LEFT_OUT.format(len(texts) - shown) if remaining >= 0 else "")


def truncate_lines(text: str, budget: int) -> str:
    """Return the leading lines of a text that fit into the budget."""
    fitting = ""
    for line in text.splitlines(keepends=True):
        if count(fitting + line) > budget:
            break
        fitting += line
    return fitting


# Argument schemas; agents read the descriptions

_MAX_BUDGET = 100_000  # tokens of an answer

Budget = Annotated[
    int, Meta(ge=MIN_BUDGET, le=_MAX_BUDGET, description="Maximum number of tokens of the whole answer.")
]
Symbol = Annotated[
    str,
    Meta(
        min_length=1,
        description="A name as code or earlier answers have it: `run`, `Flask.run`, `src/app.py::Flask.run`.",
    ),
]
Aim = Annotated[
    Literal["know", "change"],
    Meta(description="know: what there is to know for the task. change: what an edit for it is likely to touch."),
]
Names = Annotated[list[Symbol], Meta(max_length=100)]
Paths = Annotated[list[str], Meta(max_length=100)]


class Arguments(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base of the argument structs: unknown fields are rejected."""


class Context(Arguments, frozen=True):
    task: Annotated[
        str,
        Meta(description="What you want to understand or change, in words. Names, paths and stack traces in it help."),
    ] = ""
    symbols: Annotated[Names, Meta(description="Instead: show these symbols in full, e.g. from an outline.")] = []
    files: Annotated[
        Paths,
        Meta(
            description="Instead: the symbols of these files and who calls them; with a task, in the order it suggests."
        ),
    ] = []
    pr: Annotated[
        str | None,
        Meta(
            description='Instead: what a review of the changes since this base needs (branch or commit; "" for the likely one).'
        ),
    ] = None
    aim: Aim = "know"
    budget: Budget = 4_000
    detail: Annotated[
        Literal["outline", "full"],
        Meta(description="outline: names and signatures. full: bodies, too, as far as the budget goes."),
    ] = "outline"
    repeat: Annotated[
        bool, Meta(description="Send bodies again that were sent before, e.g. when you no longer have them.")
    ] = False


class Search(Arguments, frozen=True):
    query: Annotated[str, Meta(min_length=1, description="Words that the passage or definition should have, or mean.")]
    paths: Annotated[Paths, Meta(description="Only in these: `docs/`, `*.md`, `src/app.py`.")] = []
    only: Annotated[Literal["all", "documents", "code"], Meta(description="What to search.")] = "all"
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum number of results.")] = 10
    budget: Budget = 2_000


class Ask(Arguments, frozen=True):
    question: Annotated[str, Meta(min_length=1, description="A question in words, about this repository.")]
    paths: Annotated[Paths, Meta(description="Only from these: `docs/`, `*.md`, `src/app.py`.")] = []
    budget: Budget = 2_000


class Why(Arguments, frozen=True):
    task: Annotated[str, Meta(min_length=1, description="The task as it was given to `context`.")]
    symbol: Symbol
    aim: Aim = "know"
    budget: Budget = 1_000


class Impact(Arguments, frozen=True):
    symbol: Symbol
    tests: Annotated[bool, Meta(description="Only the tests among them: what to run after the change.")] = False
    depth: Annotated[int, Meta(ge=1, le=20, description="Maximum number of call steps to follow.")] = 5
    budget: Budget = 1_500


class Feedback(Arguments, frozen=True):
    useful: Annotated[Names, Meta(description="What you read or changed for the task.")] = []
    not_useful: Annotated[Names, Meta(description="What was offered and had nothing to do with it.")] = []
    task: Annotated[str, Meta(description="The task they were (not) useful for.")] = ""


def schema(of: type[Arguments]) -> dict[str, Any]:
    """Return the self-contained JSON schema of an argument struct."""
    return {**msgspec.json.schema(of)["$defs"][of.__name__], "additionalProperties": False}


# Usage notes: items shown in a conversation, and those it later requested by name

_MAX_PENDING = 100  # notes; further ones are dropped until the writer catches up


class UsageLog:
    """Records implicit feedback in order on a background thread, so that answers never wait. Off: records nothing."""

    def __init__(self, resident: Resident | WorkspaceResident, on: bool = True) -> None:
        self.on = on
        self._repo = resident.own()  # used by the writer thread only
        self._generations: list[str | None] = []
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write all pending notes and close."""
        self._writer.shutdown()
        self._repo.close()

    def given(self, session: str, items: Iterable[Item], task: str) -> None:
        """Record that items were shown to a conversation for a task."""
        shown = list(items)
        self._enqueue(lambda repo: repo.note_given(shown, task, session))

    def used(self, session: str, names: Sequence[str] = (), paths: Sequence[str] = ()) -> None:
        """Record previously shown items as useful when they are requested by name or by their file."""

        def write(repo: Repository) -> None:
            for label, member in repo.members.items():
                if label and not (member.home.folder / LEARNED).exists():
                    continue  # nothing of this repository was shown
                with learn.learning(member.index, member.home, member.source) as store:
                    store.used(" ".join(f"{name.removeprefix(f'{label}/')}()" for name in names), session)
                    for path in paths:
                        store.used("", session, path.removeprefix(f"{label}/"), range(1, sys.maxsize))

        self._enqueue(write)

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


# Conversations: bodies already sent are referred to, not sent again

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
