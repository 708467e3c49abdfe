"""What a system under test is: something with a name that answers a query with hits in rank order."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from assay.core.golden import Response
from assay.errors import AssayError

OUTPUT_LIMIT = 64 << 20  # bytes of one answer; a retriever that prints more is broken
_LINE = 300  # characters of a foreign message worth keeping

# `${query}` is a variable of somebody's shell, not a placeholder of ours
PLACEHOLDER = re.compile(r"(?<!\$)\{(query|k|budget|repo|root)\}")


class SystemFailed(AssayError):
    """One query got no usable answer: an error, a timeout, output that cannot be read. The next one may succeed."""


class SystemDied(SystemFailed):
    """The system cannot be asked any more: its program is missing, nobody listens at its address."""


class System(Protocol):
    """A retriever as the runner sees it. `Base` has defaults for everything but `retrieve`."""

    name: str
    concurrent: bool  # whether `retrieve` may be called from several threads

    def describe(self) -> dict[str, Any]:
        """What identifies the system, the same whenever it is the same: stored with the run."""
        ...

    def index(self) -> None:
        """Makes ready to be asked, where that is a step of its own."""
        ...

    def reset(self) -> None:
        """Forgets whatever was learned from earlier queries: a run starts cold."""
        ...

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        """At most `k` hits, best first. Raises SystemFailed for this query, SystemDied for this and all others."""
        ...

    def answer(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        """Like `retrieve`, with a written answer where the system can write one."""
        ...

    def close(self) -> None:
        """Lets go of whatever it holds, and ends queries under way."""
        ...


class Base:
    """A system that needs no indexing, learns nothing, holds nothing, and writes its answer (if any) when it retrieves."""

    concurrent = True

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self) -> dict[str, Any]:
        return {"spec": self.name}

    def index(self) -> None:
        return None

    def reset(self) -> None:
        return None

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        raise NotImplementedError

    def answer(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        return self.retrieve(text, k, budget, repository, query_id)

    def close(self) -> None:
        return None


def folder_of(root: Path, corpus: Path | None, repository: str) -> Path:
    """The folder a query speaks of: its repository inside the corpus, else the root."""
    if corpus is None or not repository:
        return root
    named = Path(repository)
    folder = corpus.absolute() / named
    if named.is_absolute() or ".." in named.parts or not folder.is_dir():
        raise SystemFailed(f"no folder '{repository}' in the corpus {corpus}; clone the repository there")
    return folder


def placeholders(text: str, k: int, budget: int | None, repository: str, root: Path) -> dict[str, str]:
    """What stands for `{query}`, `{k}`, `{budget}`, `{repo}` and `{root}`; without a budget there is none."""
    values = {"query": text, "k": str(k), "repo": repository, "root": str(root)}
    return values if budget is None else values | {"budget": str(budget)}


def require_budget(template: str, budget: int | None) -> None:
    """Refuses a query without a budget to a template that cannot do without one."""
    if budget is None and "budget" in PLACEHOLDER.findall(template):
        raise SystemDied("the system asks for {budget}, but the run has none; give --budget N")


def finished(response: Response, k: int, seconds: float) -> Response:
    """A response as the runner gets it: no more hits than were asked for, and how long it took."""
    return replace(response, hits=response.hits[:k], latency_ms=seconds * 1000)


def one_line(text: str, last: bool = False) -> str:
    """The first (or last) line of a foreign message that says anything, cut to a bearable length."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    line = (lines[-1] if last else lines[0]) if lines else ""
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
