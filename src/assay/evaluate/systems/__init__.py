"""Systems under test, behind one protocol: assay, a command, an HTTP endpoint, a Python callable, a TREC run file.

    open_system("cmd:rg -l -e {query}", root=…) ──▶ System ── retrieve(text, k) ──▶ Response

Each kind has a function `open(root, corpus, argument, timeout)` in a module that is imported on first use; `KINDS` is
the table of them. `shape` converts the output of foreign retrievers to a `Response`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from assay.config import trust
from assay.errors import AssayError
from assay.evaluate.systems.protocol import System, SystemDied, SystemFailed, parse_settings
from assay.text.suggest import did_you_mean

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
    "cmd": Kind("command", "cmd:rg -l -e {query}"),
    "http": Kind("http", "http://127.0.0.1:8000/search", whole=True),
    "https": Kind("http", "https://example.org/search?q={query}&limit={k}", whole=True),
    "python": Kind("python", "python:my_retriever:search"),
    "trec": Kind("trec", "trec:results.run"),
}


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
    if timeout <= 0:
        raise AssayError(f"a timeout of {timeout:g} s leaves no time to answer; give a number above 0")
    opener = getattr(import_module(f"{__name__}.{kind.module}"), kind.opener)
    system: System = opener(root, corpus, spec.strip() if kind.whole else argument.strip(), timeout)
    return system


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
