"""What a system answers to one query: hits in rank order, perhaps an answer with citations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved item. The position in the list is its rank; everything but the id is optional."""

    id: str  # what the system calls it: a chunk id, a document id, "src/app.py::Flask.run"
    symbol: str = ""  # the qualified name without its path
    path: str = ""  # the file it is in
    doc: str = ""  # the document it is from
    start: int = 0  # first and last line (or character), both included; 0 = not known
    end: int = 0
    score: float | None = None
    tokens: int = 0
    page: int = 0  # from 1; 0 = not known, or there are none

    @property
    def document(self) -> str:
        """The document, by whatever name the system gave: its document id, else its path, else its own id."""
        return self.doc or self.path or self.id


@dataclass(frozen=True, slots=True)
class Citation:
    """One citation of an answer. `resolved` is None when the system does not say; then it resolves if its id is among the hits."""

    id: str
    resolved: bool | None = None
    text: str = ""  # what the cited span says
    number: int = 0  # the n of `[#n]`; 0: its place in the list


@dataclass(frozen=True, slots=True)
class Answer:
    """A written answer. Not grounded means the system refused to answer."""

    text: str
    citations: tuple[Citation, ...] = ()
    grounded: bool = True
    confidence: float | None = None  # how sure the system is, if it says


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline: what it passed on, by hit id, best first; `dropped` says why single items were left out there."""

    name: str
    items: tuple[str, ...]
    dropped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """The whole answer of a system to one query. With an error there are no hits, and the query scores 0."""

    hits: tuple[Hit, ...] = ()
    answer: Answer | None = None
    tokens: int | None = None  # of all that was returned, if the system says
    stages: tuple[Stage, ...] = ()  # the system's trace, for `eval diagnose`
    config: dict[str, Any] = field(default_factory=dict)  # what the system says about itself, e.g. chunker_version
    error: str = ""
    latency_ms: float = 0.0

    @property
    def refused(self) -> bool:
        """Whether the system declined: an answer that is not grounded; without any answer, an empty result."""
        if self.error:
            return False
        return not self.answer.grounded if self.answer is not None else not self.hits
