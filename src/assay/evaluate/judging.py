"""Judging: hits against expectations by a matcher, answers against their sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.golden import Answer, Expected, GoldenQuery, Hit, Response
from assay.evaluate.matching import MATCHERS, Matcher
from assay.evaluate.metrics.judged import Judged, Level, Marks
from assay.text.prose import sentences
from assay.text.terms import telling_terms, terms

ENOUGH = 0.8  # of a sentence's words; the others may be what joins it to the question
_MARK = re.compile(r"\[#(\d+)\]")
_AFTER = re.compile(r"([.!?])((?:\s*\[#\d+\])+)")  # citations that follow the end of their sentence
_FENCE = re.compile(r"^\s*(```|~~~)")


class Block(NamedTuple):
    """A paragraph, or a block of code."""

    text: str
    code: bool


def support(answer: Answer) -> float | None:
    """The share of supported sentences; None where the citations do not say what they cite, or nothing is said."""
    texts = {one.number or place: one.text for place, one in enumerate(answer.citations, 1)}
    if not any(texts.values()):
        return None
    spans = {number: frozenset(terms(text)) for number, text in texts.items()}
    supported = []
    for said, numbers in _statements(answer.text):
        words = telling_terms(said)
        if words:
            cited = frozenset().union(*(spans.get(number, frozenset()) for number in numbers))
            supported.append(len(words & cited) >= ENOUGH * len(words))
    return sum(supported) / len(supported) if supported else None


def _statements(text: str) -> Iterator[tuple[str, list[int]]]:
    """Each sentence, and the numbers it rests on: its own, else the next ones in its paragraph, else those of the paragraph before."""
    before: list[int] = []
    for block in blocks(text):
        said = "" if block.code else _AFTER.sub(r" \2\1", block.text)
        parts = [block.text] if block.code else [said[start:end] for start, end in sentences(said)]
        marks = [[int(number) for number in _MARK.findall(part)] if not block.code else [] for part in parts]
        for at, part in enumerate(parts):
            nearest = next(filter(None, (*marks[at:], *reversed(marks[:at]))), before)
            yield _MARK.sub("", part), nearest
        before = next(filter(None, reversed(marks)), before)


def blocks(text: str) -> Iterator[Block]:
    """The paragraphs and the fenced blocks of code of a text in Markdown."""
    lines: list[str] = []
    fence = ""
    for line in [*text.split("\n"), ""]:
        found = _FENCE.match(line)
        if fence:
            if found and found[1] == fence:
                yield Block("\n".join(lines), True)
                lines, fence = [], ""
            else:
                lines.append(line)
        elif found or not line.strip():
            if lines:
                yield Block("\n".join(lines), False)
            lines, fence = [], found[1] if found else ""
        else:
            lines.append(line)
    if lines:
        yield Block("\n".join(lines), bool(fence))


# Judging: hits held against expectations by a matcher, and everything else a query's answer is measured by.

JUDGING_VERSION = 2  # counts up when judged arrays stored earlier would come out differently today

Row = tuple[int, int, int]  # query number, rank, grade


def judge(queries: Sequence[GoldenQuery], responses: Sequence[Response], matcher: Matcher, level: str) -> Judged:
    """Judges the responses, one per query and in their order."""
    main = _level(queries, responses, matcher, level)
    documents = main if level == "doc" else None
    if documents is None and any(query.at("doc") for query in queries):
        documents = _level(queries, responses, MATCHERS["doc"], "doc")
    returned = np.array([len(response.hits) for response in responses], dtype=np.int32)
    facts = {name: np.full(len(queries), np.nan) for name in _FACTS}
    for number, (query, response) in enumerate(zip(queries, responses, strict=True)):
        for name, value in _facts(query, response, level, matcher).items():
            facts[name][number] = value
    return Judged(tuple(query.id for query in queries), returned, main, documents, facts)


def _level(queries: Sequence[GoldenQuery], responses: Sequence[Response], matcher: Matcher, level: str) -> Level:
    hits: list[Row] = []
    found: list[Row] = []
    pairs: list[Row] = []
    wanted: list[Row] = []
    for number, (query, response) in enumerate(zip(queries, responses, strict=True)):
        expected = [e for e in query.expected if e.level == level]
        marked = mark(response.hits, expected, matcher)
        pairs += ((number, rank, grade) for rank, grade in marked.pairs)
        if not matcher.once:
            hits += ((number, rank, grade) for rank, grade in marked.hits)
            found += ((number, rank, grade) for rank, grade in sorted(marked.found))
        grades = sorted((e.grade for e in expected if e.grade > 0), reverse=True)
        wanted += ((number, place, grade) for place, grade in enumerate(grades, 1))
    one = Marks.of(pairs)
    return Level(one, one, one, Marks.of(wanted)) if matcher.once else Level(
        Marks.of(hits), Marks.of(found), one, Marks.of(wanted)
    )  # fmt: skip


class Marked:
    """One result list, judged: (rank, grade) of matching hits, of expectations at their first match, and of one-to-one pairs."""

    def __init__(self) -> None:
        self.hits: list[tuple[int, int]] = []
        self.found: list[tuple[int, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.places: dict[int, int] = {}  # which expectation (by position) was found at which rank


def mark(hits: Sequence[Hit], expected: Sequence[Expected], matcher: Matcher) -> Marked:
    """Holds one result list against its expectations. A result that was listed before is never relevant again."""
    marked = Marked()
    pairing = Pairing(expected)
    seen: set[str] = set()
    for rank, hit in enumerate(hits, 1):
        if hit.id in seen:
            continue
        seen.add(hit.id)
        matching = [at for at, one in enumerate(expected) if matcher.matches(hit, one)]
        if not matching:
            continue
        marked.hits.append((rank, max(expected[at].grade for at in matching)))
        for at in matching:
            if not matcher.once and at not in marked.places:
                marked.places[at] = rank
                marked.found.append((rank, expected[at].grade))
        gained = pairing.add(rank, matching)
        if gained is not None:
            marked.pairs.append((rank, expected[gained].grade))
    if matcher.once:
        marked.places = pairing.ranks
    return marked


class Pairing:
    """Hits and expectations paired one to one, hit after hit, so that any beginning of the list has the best pairs it can have.

    Taking what fits first is not enough: a hit that fits two expectations must give way to a later one that fits only the one
    it took. Then a more generous matcher would find less.
    """

    def __init__(self, expected: Sequence[Expected]) -> None:
        self._expected = expected
        self._matching: dict[int, list[int]] = {}  # of each hit that was added, by rank
        self.ranks: dict[int, int] = {}  # the partner of each expectation, by position

    def add(self, rank: int, matching: list[int]) -> int | None:
        """Adds a hit; returns the expectation that has a partner now and had none before, if any."""
        self._matching[rank] = matching
        # what the hit could be given: its own matches and, where one is taken, what its partner could take instead
        instead_of: dict[int, int | None] = dict.fromkeys(matching)
        reachable = list(matching)
        for taken in reachable:  # grows while it is read
            for other in self._matching[self.ranks[taken]] if taken in self.ranks else ():
                if other not in instead_of:
                    instead_of[other] = taken
                    reachable.append(other)
        free = [at for at in reachable if at not in self.ranks]
        if not free:
            return None
        gained = at = max(free, key=self._preference)
        while (taken_from := instead_of[at]) is not None:
            self.ranks[at] = self.ranks[taken_from]
            at = taken_from
        self.ranks[at] = rank
        return gained

    def _preference(self, at: int) -> tuple[int, int, int]:
        """The best grade, which decides the score; then the most qualified name, so that a list of what was found says most."""
        return self._expected[at].grade, len(self._expected[at].name), -at


_FACTS = (
    "citation_coverage", "groundedness", "support", "refusal_correctness", "unsupported_answer", "over_refusal",
    "empty_result_rate", "failure_rate", "duplicate_rate", "token_efficiency", "latency_ms",
)  # fmt: skip


def _facts(query: GoldenQuery, response: Response, level: str, matcher: Matcher) -> dict[str, float]:
    """What the query's answer is measured by besides ranks. What does not apply is left out."""
    distinct = {hit.id: hit for hit in reversed(response.hits)}  # each at its first place
    facts = {
        "empty_result_rate": float(not response.hits),
        "failure_rate": float(bool(response.error)),
    }
    if response.latency_ms:  # a stored run file has none
        facts["latency_ms"] = response.latency_ms
    if response.hits:
        facts["duplicate_rate"] = 1 - len(distinct) / len(response.hits)
    if query.refuse:
        facts["refusal_correctness"] = float(response.refused)
        facts["unsupported_answer"] = float(not response.refused and not response.error)
    else:
        facts["over_refusal"] = float(response.refused)
    answer = response.answer
    if answer is not None and not response.error:
        if answer.grounded:
            resolved = [c.id in distinct if c.resolved is None else c.resolved for c in answer.citations]
            facts["citation_coverage"] = float(all(resolved))
            supported = support(answer)
            if supported is not None:
                facts["support"] = supported
        text = answer.text
        facts["groundedness"] = float(
            all(part in text for part in query.must_contain) and not any(part in text for part in query.forbidden)
        )
    tokens = response.tokens or sum(hit.tokens for hit in response.hits)
    if tokens and any(hit.tokens for hit in response.hits):
        expected = query.at(level)
        relevant = sum(hit.tokens for hit in distinct.values() if any(matcher.matches(hit, e) for e in expected))
        facts["token_efficiency"] = min(1.0, relevant / tokens)
    return facts
