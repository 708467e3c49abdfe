"""What the tools take. The descriptions are for the agent that fills them in."""

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
from assay.serve.watch import Resident, Residents
from assay.store.layout import LEARNED, content_hash
from assay.text.display import printable
from assay.text.tokens import count

LEAST = 100  # tokens: less holds neither what was found nor what to do
_MORE = "… {} more; ask with a larger budget\n"


def fitted(head: str, pieces: Sequence[str], budget: int) -> str:
    """A head and as many of the pieces, best first, as fit; what is left out is counted. Without pieces, as much of the head as fits."""
    texts = [printable(piece) for piece in pieces]
    head = shortened(printable(head), budget)
    left = budget - count(head)
    costs = [count(text) for text in texts]
    if sum(costs) <= left:
        return head + "".join(texts)
    left -= count(_MORE.format(len(texts)))
    shown = 0
    while shown < len(texts) and costs[shown] <= left:
        left -= costs[shown]
        shown += 1
    return head + "".join(texts[:shown]) + (_MORE.format(len(texts) - shown) if left >= 0 else "")


def shortened(text: str, budget: int) -> str:
    """The first lines of a text that fit."""
    out = ""
    for line in text.splitlines(keepends=True):
        if count(out + line) > budget:
            break
        out += line
    return out


# What the tools take. The descriptions are for the agent that fills them in.

_MOST = 100_000  # tokens of an answer

Budget = Annotated[int, Meta(ge=LEAST, le=_MOST, description="The whole answer has at most so many tokens.")]
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
    """What a tool is called with."""


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
    limit: Annotated[int, Meta(ge=1, le=100, description="At most so many results.")] = 10
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
    depth: Annotated[int, Meta(ge=1, le=20, description="How many steps to follow.")] = 5
    budget: Budget = 1_500


class Feedback(Arguments, frozen=True):
    useful: Annotated[Names, Meta(description="What you read or changed for the task.")] = []
    not_useful: Annotated[Names, Meta(description="What was offered and had nothing to do with it.")] = []
    task: Annotated[str, Meta(description="The task they were (not) useful for.")] = ""


def schema(of: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of arguments, in one piece."""
    return {**msgspec.json.schema(of)["$defs"][of.__name__], "additionalProperties": False}


# What use teaches, noted behind the answers: what a conversation was given, and which of it was then asked for by
# name.

_WAITING = 100  # notes at most: who asks faster than can be written is not learned from


class Notes:
    """Notes are written in their order by one thread: no answer waits for them. Off, nothing is kept."""

    def __init__(self, resident: Resident | Residents, on: bool = True) -> None:
        self.on = on
        self._repo = resident.own()  # of the writer alone
        self._generations: list[str | None] = []
        self._writer = ThreadPoolExecutor(1, "assay notes")
        self._room = threading.Semaphore(_WAITING)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the repositories that are asked as one; none for one alone."""
        return tuple(filter(None, self._repo.members))

    @property
    def ignored_settings(self) -> list[str]:
        """Settings that count only after the user has trusted them, when the server began."""
        return self._repo.ignored_settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what is still to be written."""
        self._writer.shutdown()
        self._repo.close()

    def given(self, session: str, items: Iterable[Item], task: str) -> None:
        """A conversation was given items for a task."""
        shown = list(items)
        self._note(lambda repo: repo.note_given(shown, task, session))

    def used(self, session: str, names: Sequence[str] = (), paths: Sequence[str] = ()) -> None:
        """What it was given before and asks for now, by name or as part of a file, was useful."""

        def write(repo: Repository) -> None:
            for label, one in repo.members.items():
                if label and not (one.home.folder / LEARNED).exists():
                    continue  # nothing was given of it
                with learn.learning(one.index, one.home, one.source) as told:
                    told.used(" ".join(f"{name.removeprefix(f'{label}/')}()" for name in names), session)
                    for path in paths:
                        told.used("", session, path.removeprefix(f"{label}/"), range(1, sys.maxsize))

        self._note(write)

    def _note(self, write: Callable[[Repository], None]) -> None:
        if self.on and self._room.acquire(blocking=False):
            self._writer.submit(self._written, write)

    def _written(self, write: Callable[[Repository], None]) -> None:
        """With a repository of its own: those that answer stay warm. Where nothing can be kept, nothing is."""
        self._room.release()
        before, self._generations = self._generations, [one.home.named() for one in self._repo.members.values()]
        if before != self._generations:
            self._repo.close()
        with contextlib.suppress(AssayError, OSError):
            write(self._repo)


# What was said in a conversation already: bodies that were sent are referred to, not sent again.

SENT = "sent before"
_MOST_ANSWERS = 1_000  # conversations remembered at once


class Conversation:
    """One connection of an agent. `name` is that of its session in what is learned."""

    def __init__(self) -> None:
        self.name = f"mcp-{secrets.token_hex(8)}"
        self._sent: dict[str, bytes] = {}  # id → hash of the text that was sent
        self._guard = threading.Lock()

    def adapted(self, ranked: Sequence[Ranked], source: Source, bodies: bool, repeat: bool) -> list[Ranked]:
        """A ranking as it is to be shown here: bodies only if they are wanted, and were not sent as they are now."""
        if not bodies:
            return [replace(one, most=SIGNATURE) if one.most == BODY else one for one in ranked]
        return list(ranked) if repeat else [self._adapted(one, source) for one in ranked]

    def remember(self, items: Iterable[PackedItem], source: Source) -> None:
        """What has been sent now."""
        for packed in items:
            if packed.rendering == BODY or packed.within:
                with self._guard:
                    self._sent[packed.id] = content_hash(source.text(packed.item).encode())

    def _adapted(self, one: Ranked, source: Source) -> Ranked:
        known = self._sent.get(one.item.id)
        if known is None or content_hash(source.text(one.item).encode()) != known:
            return one
        return replace(one, most=NAME, why="; ".join(filter(None, (one.why, SENT))))


class Conversations:
    """The conversations of a server by key; those silent for longest are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def of(self, key: str | None) -> Conversation:
        """The conversation of a key, a new one if it is new. Without a key nothing is remembered."""
        if key is None:
            return Conversation()
        if key not in self._known:
            self._known[key] = Conversation()
        self._known.move_to_end(key)
        if len(self._known) > _MOST_ANSWERS:
            self._known.popitem(last=False)
        return self._known[key]
