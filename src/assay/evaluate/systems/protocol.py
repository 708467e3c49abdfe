"""Protocol of a system under test: a named retriever that answers a query with ranked hits."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core.golden import Response
from assay.errors import AssayError

OUTPUT_LIMIT = 64 << 20  # bytes of one response; a retriever that prints more is broken
_LINE = 300  # characters kept of a foreign message

# `${query}` is a shell variable, not a placeholder
PLACEHOLDER = re.compile(r"(?<!\$)\{(query|k|budget|repo|root)\}")
_SETTING_SEPARATOR = re.compile(r",(?=\w+=)")  # values may contain commas


class SystemFailed(AssayError):
    """A query failed: an error, a timeout or unreadable output. The next query may succeed."""


class SystemDied(SystemFailed):
    """The system is gone: its program is missing or its address refuses connections."""


class System:
    """A named retriever as the runner sees it.

    A system implements `retrieve`. By default it has no index, no state and no resources, and answers as it retrieves.
    """

    concurrent = True  # `retrieve` is thread-safe

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self) -> dict[str, Any]:
        """Return the facts that identify the system, stored with the run; equal for equal systems."""
        return {"spec": self.name}

    def index(self) -> None:
        """Prepare for queries, where that is a separate step."""
        return

    def reset(self) -> None:
        """Discard state learned from earlier queries: a run starts cold."""
        return

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        """Return at most `k` hits, best first. Raises SystemFailed for this query, SystemDied for all further ones."""
        raise NotImplementedError

    def answer(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        """Like `retrieve`, with a generated answer if the system can write one."""
        return self.retrieve(text, k, budget, repository, query_id)

    def close(self) -> None:
        """Release resources and abort running queries."""
        return


def parse_settings(argument: str) -> dict[str, str]:
    """Parse the settings of a SPEC: `chunker=structure:512,embedder=none`."""
    return dict(part.partition("=")[::2] for part in _SETTING_SEPARATOR.split(argument)) if argument else {}


def folder_of(root: Path, corpus: Path | None, repository: str) -> Path:
    """Return the query's repository folder inside the corpus, else the root.

    Raises SystemFailed if the corpus has no such folder.
    """
    if corpus is None or not repository:
        return root
    relative = Path(repository)
    folder = corpus.absolute() / relative
    if relative.is_absolute() or ".." in relative.parts or not folder.is_dir():
        raise SystemFailed(f"no folder '{repository}' in the corpus {corpus}; clone the repository there")
    return folder


def placeholders(text: str, k: int, budget: int | None, repository: str, root: Path) -> dict[str, str]:
    """Return the values of `{query}`, `{k}`, `{repo}`, `{root}` and, with a budget, `{budget}`."""
    values = {"query": text, "k": str(k), "repo": repository, "root": str(root)}
    return values if budget is None else values | {"budget": str(budget)}


def require_budget(template: str, budget: int | None) -> None:
    """Raise SystemDied if the template needs a budget and the run has none."""
    if budget is None and "budget" in PLACEHOLDER.findall(template):
        raise SystemDied("the system needs {budget}, but the run has none; pass --budget N")


def finished(response: Response, k: int, seconds: float) -> Response:
    """Truncate a response to `k` hits and set its latency."""
    return replace(response, hits=response.hits[:k], latency_ms=seconds * 1000)


def one_line(text: str, last: bool = False) -> str:
    """Return the first (or last) non-empty line of a message, truncated."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    line = (lines[-1] if last else lines[0]) if lines else ""
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
