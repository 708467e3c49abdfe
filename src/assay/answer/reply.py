"""What a question gets: an answer with its sources, or a refusal that says what was searched."""

from __future__ import annotations

from dataclasses import dataclass

from assay.retrieve.found import Found


@dataclass(frozen=True, slots=True)
class Source:
    """A span that an answer cites as `[#number]`, and what it says."""

    number: int
    id: str  # of the passage or definition it is in
    path: str
    start: int  # lines, from 1
    end: int
    page: int  # 0: its document has no pages
    headings: tuple[str, ...]
    place: str  # for people: `docs/guide.md:12-14`, `manual.pdf, page 3`
    text: str
    language: str  # or the format of its document
    repository: str = ""  # its label, where several are asked as one

    @property
    def title(self) -> str:
        return " > ".join(self.headings)


@dataclass(frozen=True, slots=True)
class Searched:
    """What was looked at for a question."""

    corpus: str  # in words: `211 passages and 1,024 definitions`
    places: tuple[str, ...]  # the best ones
    unseen: tuple[str, ...]  # words of the question that nothing in the corpus has


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; not grounded means that it is a refusal, and `text` says why."""

    question: str
    text: str
    grounded: bool
    confidence: float
    threshold: float
    sources: tuple[Source, ...]
    searched: Searched
    dropped: tuple[int, ...] = ()  # citations of numbers that no passage has
    model: str = ""  # who wrote it; empty: it is made of excerpts
    problem: str = ""  # why it is not whole


def source(number: int, found: Found, first: int, last: int, text: str) -> Source:
    """A span of what was found, by lines that count from 0 within it."""
    start, end, place = found.start, found.end, found.place
    if found.language not in _TEXT_OF_ITS_OWN:
        start, end = found.start + first, found.start + last
        place = place if found.page else f"{found.path}:{start}" + (f"-{end}" if end > start else "")
    headings = found.headings or ((found.title,) if found.symbol else ())
    return Source(
        number, found.id, found.path, start, end, found.page, headings, place, text, found.language, found.repository
    )


_TEXT_OF_ITS_OWN = frozenset({"html"})  # its lines are not those of the file: the passage's lines are cited
