"""Golden queries, and the hits and answers that a system returns for one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# What an expectation names. A golden query may hold several levels; the matcher chosen for a run says which one is judged.
LEVELS = ("symbol", "file", "doc", "chunk", "span")


@dataclass(frozen=True, slots=True)
class Expected:
    """One thing that should be retrieved. Grade 0 is judged irrelevant; higher is better."""

    name: str  # a symbol, a path, a document id or a chunk id, as the level says
    level: str = "symbol"
    grade: int = 1
    doc: str = ""  # of a chunk: the document it is from, where known
    start: int = 0  # of a span or chunk: first and last line (or character), both included; 0 = not known
    end: int = 0
    page: int = 0  # of a span: its page, where a document has pages and lines say little


@dataclass(frozen=True, slots=True)
class GoldenQuery:
    """One question of a golden set with its expectations."""

    id: str
    text: str
    expected: tuple[Expected, ...] = ()
    refuse: bool = False  # nothing in the corpus answers it: the right answer is a refusal
    tier: str = ""  # easy, medium, hard; exact, concept, multi_hop
    category: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    answer: str = ""  # an expected answer, for people
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    repository: str = ""  # where a set speaks of several
    commit: str = ""  # of a mined query
    where: str = ""  # "file:line" it was read from

    def at(self, level: str) -> tuple[Expected, ...]:
        """The expectations of one level that are relevant (grade above 0)."""
        return tuple(e for e in self.expected if e.level == level and e.grade > 0)


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set as read: its queries in the order of the file, and what identifies it."""

    queries: tuple[GoldenQuery, ...]
    path: str
    format: str  # one of evaluate.golden.FORMATS
    digest: str  # of the content that can change a score: ids, texts, expectations; not of notes or formatting
    warnings: tuple[str, ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels it has relevant expectations at, in the order of LEVELS."""
        used = {e.level for query in self.queries for e in query.expected if e.grade > 0}
        return tuple(level for level in LEVELS if level in used)


# What a system answers to one query: hits in rank order, perhaps an answer with citations.


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
