"""Golden queries: what is asked, and what a good answer must bring."""

from __future__ import annotations

from dataclasses import dataclass

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
