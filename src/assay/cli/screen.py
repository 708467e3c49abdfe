"""Answers on one screen of a terminal: the best results with the lines that matter, and how to see more.

Pure functions from values to lines; commands print them. Text of a repository is indented or follows a location, so it
cannot pass for a result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from assay.cli.common import Part, Size
from assay.core.items import Item
from assay.core.packs import Heading, PackedItem, Ranked, Section, Source
from assay.pack.render import form
from assay.text.display import columns, counted, one_line, path_mark, quoted, shortened, wrapped
from assay.text.markup import paragraphs, without_roles
from assay.text.plain import plain_text
from assay.text.prose import sentences
from assay.text.terms import marked, terms

if TYPE_CHECKING:
    from assay.search.hits import SearchHit

Line = tuple[Part, ...]
Words = frozenset[str]  # terms of a task or query

LEAST_RESULTS = 3
MOST_RESULTS = 10  # on a screen, unless more are asked for
_LINES_PER_RESULT = 2.5  # so that the best results get more than one line of text
_MOST_DETAILS = 3  # lines of text per result; two if a number of results is asked for
_SPARE_LINES = 2  # of the terminal: for the command above, or a message, and the prompt below
_READ_LINES, _READ_COLUMNS = 2_000, 500  # of a result: enough to find the lines that matter
_INDENT = "    "

_PLACE = {"fg": "cyan"}
_TITLE = {"bold": True}
_MATCH = {"fg": "yellow", "bold": True}
_QUIET = {"dim": True}


class Detail(NamedTuple):
    """A line of text of a result. `order` is its place in the result; `number` its line in the file, 0 if unknown."""

    order: int
    text: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """A result: its location, title and note, and the lines that matter, most important first."""

    place: str
    title: str
    more: str = ""  # end of the title, which may be cut: parameters
    note: str = ""
    details: tuple[Detail, ...] = ()


# Layout


def arrange(
    results: Sequence[Result],
    words: Words,
    size: Size,
    wanted: int | None,
    above: Sequence[Line],
    hint: Callable[[int], str],
) -> list[Line]:
    """Arrange results on a screen: as many as fit, at least three. If a number is `wanted`, that many, on any length.

    `above` precedes the results; `hint`, of the number of results shown, follows them. Neither does on a tiny terminal.
    """
    headers = [_header(result, size.width) for result in results]
    room = size.height - _SPARE_LINES - len(above) - len(_hint(hint(MOST_RESULTS), size.width))
    is_cramped = room < sum(map(len, headers[:LEAST_RESULTS])) and not wanted
    room = size.height - 1 if is_cramped else room
    number = min(len(results), wanted or _fitting(headers, room))
    left = room - sum(map(len, headers[:number]))
    allowances = [0] * number
    for most in range(1, _MOST_DETAILS + 1 - bool(wanted)):
        for rank in range(number):
            if (left > 0 or wanted) and len(results[rank].details) >= most:
                allowances[rank] = most
                left -= 1
    lines = [] if is_cramped else list(above)
    for result, header, allowance in zip(results, headers, allowances, strict=False):
        lines += [*header, *(_detail(detail, words, size.width) for detail in sorted(result.details[:allowance]))]
    return lines if is_cramped else lines + _hint(hint(number), size.width)


def _fitting(headers: Sequence[Sequence[Line]], room: int) -> int:
    """Return the number of results on a screen, so that there is room for some lines of text."""
    number = max(LEAST_RESULTS, min(MOST_RESULTS, round(room / _LINES_PER_RESULT)))
    while number > LEAST_RESULTS and sum(map(len, headers[:number])) > room:
        number -= 1
    return number


def _header(result: Result, width: int) -> list[Line]:
    """Return location and title of a result: in one line if they fit without parameters, else in two."""
    title, note = one_line(result.title), f"  [{one_line(result.note)}]" if result.note else ""
    place = _end_of(one_line(result.place), width)
    left = width - columns(place) - 2
    if columns(title) <= left:
        return [((place, _PLACE), "  ", *_title(title, result.more, note, left))]
    return [((place, _PLACE),), (_INDENT, *_title(title, result.more, note, width - len(_INDENT)))]


def _title(title: str, more: str, note: str, width: int) -> Line:
    """Return a title with its parameters and its note in a width; parameters give way first, then the note."""
    left = width - columns(title) - columns(note)
    end = shortened(one_line(more), left) if left > len(_INDENT) else ""
    rest = shortened(note, width - columns(title) - columns(end)) if columns(title) + len(_INDENT) < width else ""
    return (shortened(title, width), _TITLE), end, (rest, _QUIET)


def _end_of(place: str, width: int) -> str:
    """Return the end of a location, which has file and line."""
    while columns(place) > width:
        place = "…" + place[2:]
    return place


def _detail(detail: Detail, words: Words, width: int) -> Line:
    indent = f"{detail.number:>6}  " if detail.number else _INDENT
    text = shortened(one_line(detail.text), width - len(indent))
    return ((indent, _QUIET), *((piece, _MATCH) if matches else piece for piece, matches in marked(text, words)))


def _hint(text: str, width: int) -> list[Line]:
    return [(), *_wrapped(text, width)]


def _wrapped(text: str, width: int) -> list[Line]:
    return [((line, _QUIET),) for line in wrapped(text, width)]


def definition_lines(item: Item, width: int) -> list[Line]:
    """Return location, kind, name and parameters of a definition, in one or two lines."""
    return _header(_described(item), width)


# assay context


def context_screen(
    ranked: Sequence[Ranked], heading: Heading, source: Source, words: Words, size: Size, wanted: int | None
) -> list[Line]:
    """Arrange a ranking on a screen; that of a review by section."""
    above = [line for text in _statements(heading) for line in _wrapped(text, size.width)]
    if heading.sections:
        return [*above, *_sections(ranked, heading.sections, source, size._replace(height=size.height - len(above)))]
    if not ranked:
        return above
    results = [_definition(entry, source, words) for entry in ranked[: wanted or MOST_RESULTS]]
    why = "; source: --full" + ("; ranking: assay why TASK SYMBOL" if heading.task else "")
    return arrange(results, words, size, wanted, above, lambda shown: _shown(shown, len(ranked), wanted) + why)


def _shown(shown: int, total: int, wanted: int | None) -> str:
    number = counted(total, "result") if wanted or shown == total else f"{shown} of {total} results"
    more = f"; more: -n {2 * (wanted or MOST_RESULTS)}" if shown < total or wanted == shown else ""
    return number + more


def _statements(heading: Heading) -> list[str]:
    """Return what precedes the results: the scope, a stale index, and why an answer is unsure or empty."""
    lines = [
        ("confidence: ", form.chance(heading)),
        ("unmatched words: ", ", ".join(heading.unseen)),
        ("nearest names: ", ", ".join(heading.nearest)),
        ("found: ", "" if heading.confidence else form.searched(heading)),
        ("try: ", "" if heading.sure else form.ADVICE),
        ("scope: ", heading.scope),
        ("index: ", "" if heading.fresh else heading.freshness),
        ("pending: ", heading.pending),
    ]
    return [name + one_line(text) for name, text in lines if text]


def _sections(ranked: Sequence[Ranked], sections: Sequence[Section], source: Source, size: Size) -> list[Line]:
    """Arrange locations by section; the sections share the screen."""
    headers = {
        section.name: [
            [("  ", *line) for line in _header(_definition(entry, source, Words()), size.width - 2)]
            for entry in ranked
            if entry.section == section.name
        ]
        for section in sections
    }
    hint = _hint("all, with their source: --full", size.width)
    room = size.height - _SPARE_LINES - len(hint)
    shares = _shares({name: list(map(len, own)) for name, own in headers.items()}, room - len(sections))
    lines: list[Line] = []
    for section in sections:
        lines.append(((shortened(one_line(f"{section.title}: {section.said}"), size.width), _TITLE),))
        lines += [line for header in headers[section.name][: shares[section.name]] for line in header]
    return [*lines[: max(LEAST_RESULTS, room)], *(hint if room > LEAST_RESULTS else [])]


def _shares(heights: Mapping[str, Sequence[int]], room: int) -> dict[str, int]:
    """Return the number of results that each section shows: they take from the room in turn, until one does not fit."""
    shares = dict.fromkeys(heights, 0)
    while growing := [name for name in heights if shares[name] < len(heights[name])]:
        for name in growing:
            room -= heights[name][shares[name]]
            if room < 0:
                return shares
            shares[name] += 1
    return shares


def _definition(entry: Ranked, source: Source, words: Words) -> Result:
    packed = PackedItem(entry.item, entry.score, note=source.note(entry.item), why=entry.why)
    details = _details_of(entry.item, source.text(entry.item) if words else "", words)
    return replace(_described(entry.item), note=form.remark(packed), details=details)


def _described(item: Item) -> Result:
    return Result(form.place(PackedItem(item, 0.0)), f"{item.kind} {item.symbol}".rstrip(), _parameters(item))


def _parameters(item: Item) -> str:
    """Return the part of a signature after the name: parameters, type or value."""
    signature = " ".join(item.signature.split())
    name = re.search(rf"(?<!\w){re.escape(item.name)}(?!\w)", signature) if item.name else None
    return signature[name.end() :].rstrip(" {:;=").replace("( ", "(") if name else ""


def _details_of(item: Item, text: str, words: Words) -> tuple[Detail, ...]:
    """Return the first sentence of the documentation and the lines that match the task, most important first."""
    doc = _first_sentence(item.doc)
    described = [Detail(0, doc)] if doc else []
    lines = [
        Detail(place, line, item.start + place)
        for place, line in _read(text)
        if place and not (doc and _is_part(line, item.doc))
    ]
    matches = best_lines(lines, words) or ([] if doc else lines[:1])
    ordered = [*described, *matches] if not words.isdisjoint(terms(doc)) else [*matches[:1], *described, *matches[1:]]
    return tuple(ordered[:_MOST_DETAILS])


_REFERENCE = re.compile(r"<see(?:also)?\s+cref=\"(?:\w:)?([^\"<>]*)\"\s*/>|\{@\w+\s+([^{}]*)\}")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def _first_sentence(doc: str) -> str:
    """Return the first sentence of a documentation comment, without markup."""
    text = _TAG.sub(" ", _REFERENCE.sub(r"\1\2", without_roles(doc[:_READ_COLUMNS])))
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    return next((paragraph[start:end] for start, end in sentences(paragraph)), "")


def _is_part(line: str, doc: str) -> bool:
    """Return whether a line of source is one of the documentation."""
    return line.strip("\"'#/*!- \t") in doc


# assay search


def search_screen(hits: Sequence[SearchHit], size: Size, wanted: int | None) -> list[Line]:
    """Arrange search results on a screen."""
    words = hits[0].words if hits else Words()
    results = [_hit(hit, size.width) for hit in hits]
    return arrange(
        results, words, size, wanted, (), lambda shown: f"{_shown(shown, len(hits), wanted)}; more text: --full"
    )


def _hit(hit: SearchHit, width: int) -> Result:
    place = one_line(f"{path_mark(hit.path)}{hit.place}")
    title = _last_headings(hit.headings, width - columns(place) - 2) if hit.headings else hit.title
    repeated = {hit.headings[-1]} if hit.headings else set()
    code = int(bool(hit.symbol))  # its first line is like its title
    text = plain_text(hit.matched_text, hit.language) if hit.kind == "passage" else hit.text
    lines = [Detail(*line) for line in _read(text) if line[0] >= code and line[1].strip("`*_#= ") not in repeated]
    exact = [Detail(match.line, match.text.strip(), match.line) for match in hit.matches[:2]]
    matches = (
        exact
        or best_lines(lines, hit.words, most=2)
        or lines[:1]
        or [Detail(*line) for line in _read(hit.matched_text)][:1]
    )
    also = f"also in: {', '.join(hit.also)}" if hit.also else ""
    return Result(place, title, note=also, details=tuple(matches))


def _last_headings(headings: Sequence[str], width: int) -> str:
    """Return the last headings above a passage that fit a width, at least one: they say most about it."""
    titles = [one_line(heading) for heading in headings]
    texts = (" > ".join(titles[first:]) for first in range(len(titles)))
    return next((text for text in texts if columns(text) <= width), titles[-1])


# Lines that matter


_QUOTES = re.compile(r"^(?:\"{3}|'{3})|(?:\"{3}|'{3})$")  # around documentation


def _read(text: str) -> Iterable[tuple[int, str]]:
    """Yield the first lines of a text that have letters or digits, with their numbers from 0."""
    lines = islice(enumerate(text.split("\n")), _READ_LINES)
    stripped = ((number, _QUOTES.sub("", line[:_READ_COLUMNS].strip())) for number, line in lines)
    return ((number, line) for number, line in stripped if any(map(str.isalnum, line)))


def best_lines(lines: Sequence[Detail], words: Words, most: int = _MOST_DETAILS) -> list[Detail]:
    """Return the lines that together have most of the words, best first; a word on few lines counts more."""
    present = {line: words.intersection(terms(line.text)) for line in lines}
    counts = {word: sum(word in found for found in present.values()) for word in words}
    chosen: list[Detail] = []
    left = set(words)
    while len(chosen) < most and left:
        best = max(lines, key=lambda line: sum(1 / sqrt(counts[word]) for word in present[line] & left), default=None)
        if best is None or not present[best] & left:
            break
        chosen.append(best)
        left -= present[best]
    return chosen


# assay ask


_MOST_SOURCES = 5  # on a screen that cannot show the whole answer
_EXCERPT = "  "  # before each quoted line


def answer_screen(notice: str, excerpts: str, sources: str, size: Size) -> list[Line]:
    """Arrange the parts of a reply on a screen. Of a longer one the beginning is shown, with the first sources."""
    above = [(line,) for line in wrapped(notice, size.width)] if notice else []
    below = _excerpt_lines(excerpts, size.width)
    body = [*above, *([()] if above and below else []), *below]
    cited = [_source(line, size.width) for line in sources.split("\n")] if sources else []
    room = max(LEAST_RESULTS, size.height - _SPARE_LINES)
    if len(body) + len(cited) + bool(cited) > room:
        cited = cited[: min(_MOST_SOURCES, room // 3)]
        shown = room - 1 - len(cited) - bool(cited)
        body = [*body[:shown], ((f"… {counted(len(body) - shown, 'more line')}: --full", _QUIET),)]
    return [*body, *((), *cited)] if cited else body


def _excerpt_lines(excerpts: str, width: int) -> list[Line]:
    """Return quoted paragraphs wrapped, and their code indented and cut."""
    lines: list[Line] = []
    for paragraph in paragraphs(excerpts):
        text = quoted(paragraph.text, _EXCERPT + _INDENT if paragraph.code else _EXCERPT)
        cut = [shortened(line, width) for line in text.split("\n")] if paragraph.code else wrapped(text, width)
        lines += [(), *((line,) for line in cut)]
    return lines[1:]


def _source(line: str, width: int) -> Line:
    place, separator, title = line.partition("  ")
    place = shortened(place, width)
    left = width - columns(place) - len(separator)
    return (place, _PLACE), separator, shortened(_last_headings(title.split(" > "), left), left)
