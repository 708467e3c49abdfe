"""Systems under test, behind one protocol: assay, a command, an HTTP endpoint, a Python callable, a TREC run file.

    open_system("cmd:rg -l -e {query}", root=…) ──▶ System ── retrieve(text, k) ──▶ Response

Each kind has an opener, called with (root, corpus, argument, timeout), in a module that is imported on first use; `KINDS` is
the table of them. `shape` converts the output of foreign retrievers to a `Response`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.config import trust
from assay.core.golden import Response
from assay.errors import AssayError
from assay.text.display import clipped
from assay.text.suggest import did_you_mean

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
    reads_folder = False  # it may read the files of the root, or of the corpus, themselves

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

    def holds(self, path: Path) -> bool:
        """Return True if a file, or anything below a folder, is certainly among what is searched."""
        return False

    def searched_commits(self, commits: Collection[str], repository: str = "") -> set[str]:
        """Return those of the commits whose messages are searched."""
        return set()

    def stale(self, repository: str = "") -> str:
        """Return what has changed since the system's index was built; empty when nothing has, or there is none."""
        return ""

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
    return clipped((lines[-1] if last else lines[0]) if lines else "", _LINE)


__all__ = ["KINDS", "System", "SystemDied", "SystemFailed", "is_external", "open_system"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of system: the module that opens it, and an example SPEC."""

    module: str
    example: str
    opener: str = "open"
    bare: bool = False  # works without an argument
    whole: bool = False  # the argument includes the kind's name, such as the scheme of a URL


KINDS = {
    "assay": Kind("assay", "assay, assay:PROFILE or assay:PROFILE,walk=0.5", bare=True),
    "search": Kind("search", "search or search:chunker=structure:512,embedder=lsa,reranker=features", bare=True),
    "ask": Kind("search", "ask or ask:threshold=0.4,model=http://127.0.0.1:8080/v1#NAME", "open_ask", bare=True),
    "cmd": Kind("external", "cmd:rg -l -e {query}", "open_command"),
    "http": Kind("external", "http://127.0.0.1:8000/search", "open_endpoint", whole=True),
    "https": Kind("external", "https://example.org/search?q={query}&limit={k}", "open_endpoint", whole=True),
    "python": Kind("python", "python:my_retriever:search"),
    "trec": Kind("external", "trec:results.run", "open_run_file"),
}


INDEXED = ("assay", "search", "ask")  # kinds that search assay's own index
_ASK_SETTINGS = ("threshold", "model", "model_key_variable")  # of [ask]; all others are settings of [search]


def open_system(spec: str, *, timeout: float = 60.0, root: Path, corpus: Path | None = None) -> System:
    """Open the system of a SPEC. `timeout` is in seconds per query. Raises AssayError for an invalid SPEC."""
    name, _, argument = spec.strip().partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise AssayError(
            f"unknown kind of system '{name}'; a system is one of {', '.join(KINDS)}.{did_you_mean(name, KINDS)}"
        )
    if not argument.strip() and not kind.bare:
        raise AssayError(f"system '{spec}' has nothing after '{name}:'; write for example {kind.example}")
    check_timeout(timeout)
    opener = getattr(import_module(f"{__name__}.{kind.module}"), kind.opener)
    system: System = opener(root, corpus, spec.strip() if kind.whole else argument.strip(), timeout)
    return system


def check_timeout(seconds: float) -> None:
    """Raise AssayError for a timeout that leaves no time."""
    if not seconds > 0:
        raise AssayError(f"a timeout of {seconds:g} s leaves no time to answer; give a number above 0")


def is_external(spec: str) -> bool:
    """Return True if a SPEC starts a program, imports a module, contacts a server or opens a file.

    Only the user may name such a system: grids and run stores may come from a stranger.
    """
    name, _, argument = spec.strip().partition(":")
    if name not in ("search", "ask"):
        return name != "assay"
    table: dict[str, dict[str, str]] = {"search": {}, "ask": {}}
    for setting, value in parse_settings(argument).items():
        table["ask" if setting in _ASK_SETTINGS else "search"][setting] = value
    return bool(trust.risks(table, Path.cwd()))
