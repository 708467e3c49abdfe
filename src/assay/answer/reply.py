"""A reply: cited answer or refusal, and its renderings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.search.search import Found
from assay.text.display import printable


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


# What is said instead of an answer: that there is none, what was searched, and what to try.

_PLACES = 3
NOTHING_SAYS = "Nothing that was found answers this."


def refusal(searched: Searched, why: str = NOTHING_SAYS) -> str:
    """The text of a refusal, for people."""
    lines = [f"{why} Searched: {searched.corpus}."]
    if searched.unseen:
        lines.append(f"No text here has {_listed(searched.unseen)}.")
    if searched.places:
        lines.append(f"Nearest: {'; '.join(searched.places[:_PLACES])}.")
        lines.append(
            "Try other words for it, or read those places; assay search shows more of them, and --threshold 0 answers all the same."
        )
    else:
        lines.append("Try other words for it; if there are filters, fewer of them.")
    return "\n".join(lines)


def _listed(words: tuple[str, ...]) -> str:
    """`a`, `b` or `c`, in quotes."""
    quoted = [f"“{word}”" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# A reply as text, as Markdown, and as the stable JSON that docs/guides/ask.md describes.

FORMS = ("text", "markdown", "json")


def rendered(reply: Reply, form: str) -> str:
    """The answer, then the list of its sources; of a refusal, what it says. Safe for a terminal."""
    return printable("\n\n".join(filter(None, (reply.text, sources(reply, form)))))


def sources(reply: Reply, form: str) -> str:
    """The sources by number, and the citations that were dropped."""
    lines = [_SOURCE[form](one) for one in reply.sources]
    if reply.dropped:
        numbers = ", ".join(f"#{number}" for number in reply.dropped)
        lines.append(f"{'' if not lines else chr(10)}dropped, as no passage has that number: {numbers}")
    return printable("\n".join(lines))


def _text(one: Source) -> str:
    return f"[#{one.number}] {one.place}" + (f"  {one.title}" if one.title else "")


def _markdown(one: Source) -> str:
    return f"- [#{one.number}] `{one.place}`" + (f" – {one.title}" if one.title else "")


_SOURCE = {"text": _text, "markdown": _markdown}


def as_json(reply: Reply) -> dict[str, Any]:
    """Every fact of a reply under names that stay."""
    return {
        "question": reply.question,
        "answer": reply.text,
        "grounded": reply.grounded,
        "confidence": reply.confidence,
        "threshold": reply.threshold,
        "citations": [_citation(one) for one in reply.sources],
        "dropped_citations": list(reply.dropped),
        "searched": {
            "corpus": reply.searched.corpus,
            "places": list(reply.searched.places),
            "unseen_words": list(reply.searched.unseen),
        },
        "model": reply.model or None,
        "problem": reply.problem or None,
    }


def _citation(one: Source) -> dict[str, Any]:
    told = {
        "n": one.number, "id": one.id, "path": one.path, "start": one.start, "end": one.end, "page": one.page or None,
        "headings": list(one.headings), "citation": one.place, "text": one.text,
    }  # fmt: skip
    return told | ({"repository": one.repository} if one.repository else {})
