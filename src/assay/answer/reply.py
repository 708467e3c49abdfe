"""A reply: cited answer or refusal, and its renderings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from assay.answer.citations import strip_unknown_citations
from assay.answer.excerpts import Excerpt
from assay.answer.gaps import listed
from assay.answer.units import CODE, ITEM, ROW, SENTENCE, Unit
from assay.search.hits import SearchHit
from assay.text.display import printable, quoted
from assay.text.markup import FENCE, closes, ticks_around
from assay.text.plain import plain_text


@dataclass(frozen=True, slots=True)
class Source:
    """A span that an answer cites as `[#number]`, with its text."""

    number: int
    id: str  # of the passage or definition
    path: str
    start: int  # lines, from 1
    end: int
    page: int  # 0 if the document has no pages
    headings: tuple[str, ...]
    place: str  # human-readable: `docs/guide.md:12-14`, `manual.pdf, page 3`
    text: str
    language: str  # or document format
    repository: str = ""  # label, in a multi-repository search

    @property
    def title(self) -> str:
        return " > ".join(self.headings)


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The corpus and the places searched for a question."""

    corpus: str  # human-readable: `211 passages and 1,024 definitions`
    places: tuple[str, ...]  # of the search hits, best first
    unseen: tuple[str, ...]  # question words that occur nowhere in the corpus


ANSWERED, CLOSEST, REFUSED = "answered", "closest", "refused"  # outcomes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; the closest passages where that is not sure enough; or a refusal with its reason in `text`."""

    question: str
    text: str
    outcome: str  # ANSWERED, CLOSEST or REFUSED
    confidence: float
    threshold: float
    sources: tuple[Source, ...]
    searched: SearchScope
    missing: str = ""  # of the closest passages: what they lack
    dropped: tuple[int, ...] = ()  # cited numbers that no passage has
    model: str = ""  # its name; empty for excerpts
    problem: str = ""  # why it is incomplete

    @property
    def grounded(self) -> bool:
        """True for an answer, false for the closest passages and for a refusal."""
        return self.outcome == ANSWERED

    @property
    def notice(self) -> str:
        """Words of assay itself: the refusal, or what the closest passages lack; empty for an answer."""
        if self.outcome == CLOSEST:
            return f"{CLOSEST_PASSAGES}: {self.missing}."
        return "" if self.quotation else self.text

    @property
    def quotation(self) -> str:
        """Excerpts, or the text of a model; empty for a refusal."""
        return self.text if self.outcome != REFUSED or self.problem else ""


def source(number: int, found: SearchHit, first: int, last: int, text: str) -> Source:
    """Build the source for lines `first` to `last` of a search hit, counted from 0 within it."""
    start, end, place = found.start, found.end, found.place
    if found.language not in _LINES_OF_PASSAGE:
        start, end = found.start + first, found.start + last
        place = place if found.page else f"{found.path}:{start}" + (f"-{end}" if end > start else "")
    headings = found.headings or ((found.title,) if found.symbol else ())
    return Source(
        number, found.id, found.path, start, end, found.page, headings, place, text, found.language, found.repository
    )


_LINES_OF_PASSAGE = frozenset(
    {"html", "man"}
)  # extracted lines differ from the file's, so the passage's lines are cited


# Answer text

_MAX_PASSES = 5  # removing a citation may form another: `[#[#1]1]`


def render_excerpts(chosen: Sequence[Excerpt]) -> tuple[str, tuple[Source, ...]]:
    """Return the text of an answer in Markdown, and its sources numbered from 1.

    Markup of the documents is rendered as plain text; code is fenced.
    """
    paragraphs: list[str] = []
    sources: list[Source] = []
    for number, excerpt in enumerate(chosen, 1):
        first, last = excerpt.lines
        lines = excerpt.found.text.split("\n")[first : last + 1]
        sources.append(source(number, excerpt.found, first, last, "\n".join(lines)))
        paragraphs += _paragraphs(excerpt, f"[#{number}]")
    return "\n\n".join(paragraphs), tuple(sources)


def _paragraphs(excerpt: Excerpt, citation: str) -> Iterator[str]:
    """Yield paragraphs; a term is named before what first explains it, the last one of prose has the citation."""
    lines = excerpt.found.text.split("\n")
    groups = [list(group) for _, group in groupby(excerpt.units, key=_paragraph_key)]
    labels = ["", *(units[0].label.text for units in groups)]
    joined = (
        _join_units(units, excerpt.found.language, lines, "" if label == before else label)
        for units, before, label in zip(groups, labels, labels[1:], strict=False)
    )
    texts = [text for text in joined if text]
    cited = max((place for place, text in enumerate(texts) if not text.startswith(_FENCE)), default=None)
    for place, text in enumerate(texts):
        yield f"{text} {citation}" if place == cited else text
    if cited is None:
        yield citation


_FENCE = "```"


def _paragraph_key(unit: Unit) -> tuple[str, str, int]:
    """Return what neighbouring units of one paragraph, list, table or code block share."""
    return unit.kind, unit.label.text, unit.block if unit.kind in (SENTENCE, ROW) else 0


def _join_units(units: Sequence[Unit], markup: str, lines: Sequence[str], label: str) -> str:
    """Return units of one kind as text: sentences as a paragraph, items and rows as a list, after the term they explain.

    Code is fenced. Text that looks like a citation is removed.
    """
    kind = units[0].kind
    if kind == CODE:
        code = "\n\n".join(unit.text for unit in units)
        fence = ticks_around(code)
        return f"{fence}\n{code}\n{fence}"
    parts = [_plain(unit.text, markup) for unit in units]
    if kind == ITEM:
        indents = [_indent(lines[unit.first], markup) for unit in units]
        levels = sorted(set(indents))
        parts = [f"{'  ' * levels.index(indent)}{part}" for part, indent in zip(parts, indents, strict=True)]
    elif kind == ROW:
        header = [_plain(units[0].header, markup)] if units[0].header else []
        parts = [*header, *(f"- {part}" for part in parts if part)]
    between = " " if kind == SENTENCE else "\n"
    term = (_plain(label, markup) or label.strip("!?+ ")) if label and label not in units[0].text else ""
    text = between.join(filter(None, parts)).strip()
    return _without_citations(f"{term}:{between}{text}" if term else text)


def _indent(line: str, markup: str) -> int:
    """Return how far a list item is indented; the signs of AsciiDoc say it by their number."""
    text = plain_text(line, markup) if markup == "asciidoc" else line.expandtabs(4)
    return len(text) - len(text.lstrip())


def _plain(text: str, markup: str) -> str:
    return " ".join(plain_text(text, markup).split()) if text else ""


def _without_citations(text: str) -> str:
    for _ in range(_MAX_PASSES):
        text, citations = strip_unknown_citations(text, frozenset())
        if not citations.dropped:
            return text
    return text.replace("[#", "[")


# Refusals

_MAX_PLACES = 3
NOT_HERE = "Not here."


def refusal(searched: SearchScope, why: str = NOT_HERE) -> str:
    """Return the text of a refusal: the reason, the corpus searched, and what to try next."""
    lines = [f"{why} Searched: {searched.corpus}."]
    if searched.unseen:
        lines.append(f"Nothing in this corpus mentions {listed(searched.unseen)}.")
    if searched.places:
        lines.append(f"Nearest: {'; '.join(searched.places[:_MAX_PLACES])}.")
        lines.append(
            "Rephrase the question or read those places; assay search lists more, --threshold 0 answers anyway."
        )
    else:
        lines.append("Rephrase the question; if filters are set, use fewer.")
    return "\n".join(lines)


# Renderings

FORMS = ("text", "markdown", "json")


CLOSEST_PASSAGES = "Closest passages, not an answer"
EXCERPT = {"text": "  ", "markdown": "> "}  # before each line that is not assay's own


def render_reply(reply: Reply, form: str) -> str:
    """Render the answer and its list of sources, safe for a terminal; only notices and sources begin in column 0."""
    text = (_without_tags if form == "markdown" else _without_markdown)(reply.quotation)
    parts = (reply.notice, quoted(printable(text), EXCERPT[form]) if text else "", sources(reply, form))
    return "\n\n".join(printable(part) for part in parts if part)


def _without_markdown(text: str) -> str:
    """Indent fenced code by four blanks instead."""
    lines = ((f"    {line}" if code else line) for line, code, fence in _fenced_lines(text) if not fence)
    return "\n".join(lines)


def _without_tags(text: str) -> str:
    """Escape what Markdown takes for a tag, which may end the quotation or hide what follows it."""
    return "\n".join(line if code else _TAG.sub(r"\\<", line) for line, code, _ in _fenced_lines(text))


_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def _fenced_lines(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each line of Markdown, whether it is in a fenced block, and whether it is the fence itself."""
    open_fence = ""
    for line in text.split("\n"):
        fence = FENCE.match(line) if not open_fence else None
        is_end = bool(open_fence) and closes(line, open_fence)
        yield line, bool(open_fence), bool(fence) or is_end
        open_fence = "" if is_end else fence[1] if fence else open_fence


def sources(reply: Reply, form: str) -> str:
    """Render the sources by number, and the dropped citations."""
    lines = [_SOURCE[form](source) for source in reply.sources]
    if reply.dropped:
        numbers = ", ".join(f"#{number}" for number in reply.dropped)
        lines.append(f"{'' if not lines else chr(10)}dropped, as no passage has that number: {numbers}")
    return printable("\n".join(lines))


def _text(source: Source) -> str:
    return f"[#{source.number}] {source.place}" + (f"  {source.title}" if source.title else "")


def _markdown(source: Source) -> str:
    return f"- [#{source.number}] `{source.place}`" + (f" – {source.title}" if source.title else "")


_SOURCE = {"text": _text, "markdown": _markdown}


def as_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as the stable JSON that docs/guides/ask.md describes."""
    return {
        "question": reply.question,
        "answer": reply.text,
        "outcome": reply.outcome,
        "grounded": reply.grounded,
        "confidence": reply.confidence,
        "threshold": reply.threshold,
        "missing": reply.missing or None,
        "citations": [_citation(source) for source in reply.sources],
        "dropped_citations": list(reply.dropped),
        "searched": {
            "corpus": reply.searched.corpus,
            "places": list(reply.searched.places),
            "unseen_words": list(reply.searched.unseen),
        },
        "model": reply.model or None,
        "problem": reply.problem or None,
    }


def _citation(source: Source) -> dict[str, Any]:
    fields = {
        "n": source.number, "id": source.id, "path": source.path, "start": source.start, "end": source.end,
        "page": source.page or None, "headings": list(source.headings), "citation": source.place, "text": source.text,
    }  # fmt: skip
    return fields | ({"repository": source.repository} if source.repository else {})
