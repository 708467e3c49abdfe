"""What the tools take. The descriptions are for the agent that fills them in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from assay.mcp.fitting import LEAST

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
