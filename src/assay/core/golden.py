"""Golden queries, and the hits and answers that a system returns for one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Kinds of expectations. A query may have several levels; the matcher of a run selects the one that is judged.
LEVELS = ("symbol", "file", "doc", "chunk", "span")

# Metrics of which lower values are better, for the metric table and the reports; all others are better when higher.
LOWER_IS_BETTER = frozenset(
    {"unsupported_answer", "over_refusal", "empty_result_rate", "failure_rate", "duplicate_rate"}
)


@dataclass(frozen=True, slots=True)
class Expected:
    """An item that should be retrieved. Grade 0 means judged irrelevant; higher is better."""

    name: str  # symbol, path, document id or chunk id, depending on the level
    level: str = "symbol"
    grade: int = 1
    doc: str = ""  # document of a chunk, if known
    start: int = 0  # first and last line (or character) of a span or chunk, inclusive; 0 = unknown
    end: int = 0
    page: int = 0  # page of a span, in documents with pages


@dataclass(frozen=True, slots=True)
class GoldenQuery:
    """A query of a golden set with its expectations."""

    id: str
    text: str
    expected: tuple[Expected, ...] = ()
    refuse: bool = False  # no answer in the corpus: a refusal is correct
    tier: str = ""  # easy, medium, hard; exact, concept, multi_hop
    category: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    answer: str = ""  # reference answer, for people
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    repository: str = ""  # in a multi-repository set
    commit: str = ""  # source of a mined query
    where: str = ""  # "file:line" of its definition

    def at(self, level: str) -> tuple[Expected, ...]:
        """Return the relevant expectations (grade above 0) of a level."""
        return tuple(e for e in self.expected if e.level == level and e.grade > 0)


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set as read: its queries in file order, and its identity."""

    queries: tuple[GoldenQuery, ...]
    path: str
    format: str  # one of evaluate.golden.FORMATS
    digest: str  # of the scored content: ids, texts, expectations; not notes or formatting
    warnings: tuple[str, ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels with relevant expectations, in the order of LEVELS."""
        used = {e.level for query in self.queries for e in query.expected if e.grade > 0}
        return tuple(level for level in LEVELS if level in used)


# Responses of a system: hits in rank order, optionally an answer with citations

COST = "cost"  # in the metadata of a response
LONGEST_HIT_TEXT = 50_000  # characters kept of a hit: a whole module; more than any token budget shows


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved item. Its rank is its position in the list; only the id is required."""

    id: str  # the system's own id: a chunk id, a document id, "src/app.py::Flask.run"
    symbol: str = ""  # qualified name without path
    path: str = ""  # file
    doc: str = ""  # document
    start: int = 0  # first and last line (or character), inclusive; 0 = unknown
    end: int = 0
    score: float | None = None
    tokens: int = 0
    page: int = 0  # from 1; 0 = unknown or none
    text: str = ""  # as returned, for phrases and token counts; at most LONGEST_HIT_TEXT

    @property
    def document(self) -> str:
        """The document: its document id, else its path, else the hit's own id."""
        return self.doc or self.path or self.id


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation in an answer. If `resolved` is None, it resolves if its id is among the hits."""

    id: str
    resolved: bool | None = None
    text: str = ""  # text of the cited span
    number: int = 0  # the n of `[#n]`; 0: its position in the list


@dataclass(frozen=True, slots=True)
class Answer:
    """A written answer. Not grounded means a refusal, or the closest passages without an answer."""

    text: str
    citations: tuple[Citation, ...] = ()
    grounded: bool = True
    confidence: float | None = None  # if the system reports it
    closest: bool = False  # the system is not sure and shows what comes closest


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipeline stage: the ids it passed on, best first; `dropped` gives the reason for items removed there."""

    name: str
    items: tuple[str, ...]
    dropped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """A system's response to a query. With an error there are no hits, and the query scores 0."""

    hits: tuple[Hit, ...] = ()
    answer: Answer | None = None
    tokens: int | None = None  # of the whole response, if the system reports it
    stages: tuple[Stage, ...] = ()  # the system's trace, for `eval diagnose`
    config: dict[str, Any] = field(default_factory=dict)  # metadata reported by the system, e.g. chunker_version
    error: str = ""
    latency_ms: float = 0.0

    @property
    def cost(self) -> float | None:
        """Cost of the response in the currency of the system, if it reports one."""
        cost = self.config.get(COST)
        return float(cost) if isinstance(cost, int | float) else None

    @property
    def refused(self) -> bool:
        """True if the system declined: neither an answer nor the closest passages or, without an answer, an empty result."""
        if self.error:
            return False
        return not (self.answer.grounded or self.answer.closest) if self.answer is not None else not self.hits
