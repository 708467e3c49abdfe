"""Judging: hits against expectations by a matcher, answers against their citations.

queries × responses ──▶ judge ──▶ Judged: flat arrays of ranks and grades. Every metric is a reduction over these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import Answer, Expected, GoldenQuery, Hit, Response
from assay.evaluate.matching import MATCHERS, Matcher
from assay.text.markup import paragraphs
from assay.text.prose import sentences
from assay.text.terms import telling_terms, terms
from assay.text.tokens import count

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_SAME = "documents.same"  # key of an empty array: the main level is the document level


@dataclass(frozen=True, slots=True)
class Marks:
    """Ranks and grades of many queries in flat arrays, sorted by query and rank. Ranks start at 1."""

    owner: Ints
    rank: Ints
    grade: Ints

    @classmethod
    def of(cls, rows: list[tuple[int, int, int]]) -> Marks:
        """Build from sorted (query number, rank, grade) rows."""
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        return cls(*(np.ascontiguousarray(table[:, column]) for column in range(3)))

    def __len__(self) -> int:
        return len(self.owner)

    def chosen(self, relevant_from: int, cut: int | None) -> Marks:
        """Return the marks of at least grade `relevant_from`, within the first `cut` ranks."""
        keep = self.grade >= relevant_from
        if cut is not None:
            keep &= self.rank <= cut
        return Marks(self.owner[keep], self.rank[keep], self.grade[keep])

    def count(self, queries: int) -> Floats:
        """Return the number of marks per query."""
        return np.bincount(self.owner, minlength=queries).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Level:
    """Judgements at one level of expectation.

    `hits`: matching results at their rank, with the best grade they match (0 or less: judged irrelevant).
    `found`: expectations, at the rank of the first result that matches them.
    `pairs`: expectations, each paired with at most one result.
    `wanted`: all expectations, best grade first, at their rank in that ideal list.

    Where every expectation can be matched only once, the first three are the same.
    """

    hits: Marks
    found: Marks
    pairs: Marks
    wanted: Marks


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged run. `facts` are per-query figures without ranks (latency, tokens, refusals…); NaN = not measured."""

    queries: tuple[str, ...]
    returned: Ints  # results per query, duplicates included
    main: Level
    documents: Level | None = None  # document level, when the golden set has document expectations
    facts: dict[str, Floats] = field(default_factory=dict)
    tokens: Ints | None = None  # of every result, query by query; None when nothing is known of any

    def __len__(self) -> int:
        return len(self.queries)

    def fact(self, name: str) -> Floats:
        return self.facts.get(name, np.full(len(self), np.nan))

    # serialisation

    def arrays(self) -> dict[str, NDArray[Any]]:
        named: dict[str, NDArray[Any]] = {"returned": self.returned}
        named |= {f"fact.{name}": values for name, values in self.facts.items()}
        named |= {} if self.tokens is None else {"tokens": self.tokens}
        named |= _level_arrays("main", self.main)
        if self.documents is self.main:
            named[_SAME] = np.array([], dtype=np.int32)
        elif self.documents is not None:
            named |= _level_arrays("documents", self.documents)
        return named

    @classmethod
    def from_arrays(cls, queries: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> Judged:
        facts = {name[5:]: values for name, values in arrays.items() if name.startswith("fact.")}
        main = _level(arrays, "main")
        documents = main if _SAME in arrays else None
        if "documents.wanted.owner" in arrays:
            documents = _level(arrays, "documents")
        return cls(queries, arrays["returned"], main, documents, facts, arrays.get("tokens"))


def _level_arrays(name: str, level: Level) -> dict[str, NDArray[Any]]:
    parts = {"hits": level.hits, "wanted": level.wanted}
    if level.found is not level.hits:
        parts |= {"found": level.found, "pairs": level.pairs}
    return {
        f"{name}.{part}.{column}": getattr(marks, column)
        for part, marks in parts.items()
        for column in ("owner", "rank", "grade")
    }


def _level(arrays: dict[str, NDArray[Any]], name: str) -> Level:
    def marks(part: str) -> Marks:
        return Marks(*(arrays[f"{name}.{part}.{column}"] for column in ("owner", "rank", "grade")))

    hits = marks("hits")
    separate = f"{name}.found.owner" in arrays
    return Level(hits, marks("found") if separate else hits, marks("pairs") if separate else hits, marks("wanted"))


# support: sentences of an answer against the spans they cite

SUPPORT_THRESHOLD = 0.8  # share of a sentence's words in its citations; the others may link it to the question
_CITATION = re.compile(r"\[#(\d+)\]")
_TRAILING_CITATIONS = re.compile(r"([.!?])((?:\s*\[#\d+\])+)")  # citations after the end of their sentence


def support(answer: Answer) -> float | None:
    """Return the share of supported sentences; None when citations carry no text or no sentence has content."""
    texts = {citation.number or position: citation.text for position, citation in enumerate(answer.citations, 1)}
    if not any(texts.values()):
        return None
    terms_by_number = {number: frozenset(terms(text)) for number, text in texts.items()}
    supported = []
    for sentence, numbers in _cited_sentences(answer.text):
        sentence_terms = telling_terms(sentence)
        if sentence_terms:
            cited_terms = frozenset().union(*(terms_by_number.get(number, frozenset()) for number in numbers))
            supported.append(len(sentence_terms & cited_terms) >= SUPPORT_THRESHOLD * len(sentence_terms))
    return sum(supported) / len(supported) if supported else None


def _cited_sentences(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each sentence with its citation numbers.

    Those are its own, else the nearest in its paragraph (following ones first), else those of the previous paragraph.
    """
    previous: list[int] = []
    for block in paragraphs(text):
        prose = "" if block.code else _TRAILING_CITATIONS.sub(r" \2\1", block.text)
        parts = [block.text] if block.code else [prose[start:end] for start, end in sentences(prose)]
        numbers = [[int(number) for number in _CITATION.findall(part)] if not block.code else [] for part in parts]
        for position, part in enumerate(parts):
            nearest = next(filter(None, (*numbers[position:], *reversed(numbers[:position]))), previous)
            yield _CITATION.sub("", part), nearest
        previous = next(filter(None, reversed(numbers)), previous)


# judging hits, and per-query facts

JUDGING_VERSION = 3  # increment when stored judged arrays would be computed differently

Row = tuple[int, int, int]  # query number, rank, grade


def judge(queries: Sequence[GoldenQuery], responses: Sequence[Response], matcher: Matcher, level: str) -> Judged:
    """Judge the responses, one per query, in query order."""
    main = _judge_level(queries, responses, matcher, level)
    documents = main if level == "doc" else None
    if documents is None and any(query.at("doc") for query in queries):
        documents = _judge_level(queries, responses, MATCHERS["doc"], "doc")
    returned = np.array([len(response.hits) for response in responses], dtype=np.int32)
    facts = {name: np.full(len(queries), np.nan) for name in _FACT_NAMES}
    for number, (query, response) in enumerate(zip(queries, responses, strict=True)):
        for name, value in _facts(query, response, level, matcher).items():
            facts[name][number] = value
    return Judged(tuple(query.id for query in queries), returned, main, documents, facts, hit_tokens(responses))


_TOKENS_PER_LINE = 13  # of code: 13.5 on average over our own source, by `text.tokens`


def hit_tokens(responses: Sequence[Response]) -> Ints | None:
    """Return the tokens of every hit, in order: as reported, else of its text, else estimated from its lines.

    A hit of which none is known counts as much as the median of the others. None when nothing is known of any.
    """
    tokens = np.array([_known_tokens(hit) for response in responses for hit in response.hits], dtype=np.int32)
    sizes = tokens[tokens > 0]
    if not len(sizes):
        return None
    return np.where(tokens > 0, tokens, np.int32(np.median(sizes))).astype(np.int32)


def _known_tokens(hit: Hit) -> int:
    if hit.tokens:
        return min(hit.tokens, _MOST_TOKENS)
    if hit.text:
        return count(hit.text)
    return min((hit.end - hit.start + 1) * _TOKENS_PER_LINE, _MOST_TOKENS) if hit.start else 0


_MOST_TOKENS = 1_000_000_000  # per hit: what a system reports may be anything


def _judge_level(queries: Sequence[GoldenQuery], responses: Sequence[Response], matcher: Matcher, level: str) -> Level:
    hits: list[Row] = []
    first_matches: list[Row] = []
    pairs: list[Row] = []
    ideal: list[Row] = []
    for number, (query, response) in enumerate(zip(queries, responses, strict=True)):
        expected = [expectation for expectation in query.expected if expectation.level == level]
        marked = mark(response.hits, expected, matcher)
        pairs += ((number, rank, grade) for rank, grade in marked.pairs)
        if not matcher.once:
            hits += ((number, rank, grade) for rank, grade in marked.hits)
            first_matches += ((number, rank, grade) for rank, grade in sorted(marked.found))
        grades = sorted((expectation.grade for expectation in expected if expectation.grade > 0), reverse=True)
        ideal += ((number, ideal_rank, grade) for ideal_rank, grade in enumerate(grades, 1))
    pair_marks = Marks.of(pairs)
    return Level(pair_marks, pair_marks, pair_marks, Marks.of(ideal)) if matcher.once else Level(
        Marks.of(hits), Marks.of(first_matches), pair_marks, Marks.of(ideal)
    )  # fmt: skip


class Marked:
    """A judged result list, as (rank, grade) pairs.

    `hits`: matching hits; `found`: expectations at their first match; `pairs`: one-to-one pairs.
    """

    def __init__(self) -> None:
        self.hits: list[tuple[int, int]] = []
        self.found: list[tuple[int, int]] = []
        self.pairs: list[tuple[int, int]] = []
        self.places: dict[int, int] = {}  # position of a matched expectation → its rank


def mark(hits: Sequence[Hit], expected: Sequence[Expected], matcher: Matcher) -> Marked:
    """Judge one result list against its expectations. A repeated result is never relevant again."""
    marked = Marked()
    pairing = Pairing(expected)
    seen: set[str] = set()
    for rank, hit in enumerate(hits, 1):
        if hit.id in seen:
            continue
        seen.add(hit.id)
        matching = [position for position, expectation in enumerate(expected) if matcher.matches(hit, expectation)]
        if not matching:
            continue
        marked.hits.append((rank, max(expected[position].grade for position in matching)))
        for position in matching:
            if not matcher.once and position not in marked.places:
                marked.places[position] = rank
                marked.found.append((rank, expected[position].grade))
        gained = pairing.add(rank, matching)
        if gained is not None:
            marked.pairs.append((rank, expected[gained].grade))
    if matcher.once:
        marked.places = pairing.ranks
    return marked


class Pairing:
    """Incremental maximum bipartite matching of hits and expectations: every prefix of the list has its best pairing.

    Greedy matching is not enough: a hit that fits two expectations must give way to a later one that fits only the one
    it took. Otherwise a more generous matcher would find less.
    """

    def __init__(self, expected: Sequence[Expected]) -> None:
        self._expected = expected
        self._matching: dict[int, list[int]] = {}  # rank of an added hit → expectations it matches
        self.ranks: dict[int, int] = {}  # position of an expectation → rank of its partner

    def add(self, rank: int, matching: list[int]) -> int | None:
        """Add a hit; return the expectation that is newly paired, if any."""
        self._matching[rank] = matching
        # alternating paths: the hit's own matches and, for each paired one, what its partner could match instead
        reached_from: dict[int, int | None] = dict.fromkeys(matching)
        reachable = list(matching)
        for occupied in reachable:  # grows while iterating
            for alternative in self._matching[self.ranks[occupied]] if occupied in self.ranks else ():
                if alternative not in reached_from:
                    reached_from[alternative] = occupied
                    reachable.append(alternative)
        free = [position for position in reachable if position not in self.ranks]
        if not free:
            return None
        gained = position = max(free, key=self._preference)
        while (previous := reached_from[position]) is not None:
            self.ranks[position] = self.ranks[previous]
            position = previous
        self.ranks[position] = rank
        return gained

    def _preference(self, position: int) -> tuple[int, int, int]:
        """Rank free expectations by grade, which decides the score; then by the most qualified name."""
        return self._expected[position].grade, len(self._expected[position].name), -position


_FACT_NAMES = (
    "citation_coverage", "groundedness", "support", "refusal_correctness", "unsupported_answer", "over_refusal", "closest",
    "phrase_recall", "empty_result_rate", "failure_rate", "duplicate_rate", "token_efficiency", "latency_ms", "tokens", "cost",
)  # fmt: skip


def _facts(query: GoldenQuery, response: Response, level: str, matcher: Matcher) -> dict[str, float]:
    """Return the query's figures that need no ranks; inapplicable ones are left out."""
    facts = {"empty_result_rate": float(not response.hits), "failure_rate": float(bool(response.error))}
    if response.latency_ms:  # TREC run files have none
        facts["latency_ms"] = response.latency_ms
    if response.tokens is not None:
        facts["tokens"] = float(response.tokens)
    if response.cost is not None:
        facts["cost"] = response.cost
    if query.must_contain and (texts := _returned_texts(response)):
        facts["phrase_recall"] = sum(says(texts, phrase) for phrase in query.must_contain) / len(query.must_contain)
    if response.hits:
        facts["duplicate_rate"] = 1 - len({hit.id for hit in response.hits}) / len(response.hits)
    if query.refuse:
        facts["refusal_correctness"] = float(response.refused)
        closest = response.answer is not None and response.answer.closest
        facts["unsupported_answer"] = float(not response.refused and not response.error and not closest)
    else:
        facts["over_refusal"] = float(response.refused)
    if response.answer is not None and not response.error:
        facts["closest"] = float(response.answer.closest)
        facts |= _answer_facts(query, response.answer, {hit.id for hit in response.hits})
    return facts | _token_facts(query, response, level, matcher)


def _answer_facts(query: GoldenQuery, answer: Answer, retrieved: set[str]) -> dict[str, float]:
    """Return the figures of a written answer: its citations, their support, and required or forbidden strings."""
    facts = {}
    if answer.grounded:
        resolved = [c.id in retrieved if c.resolved is None else c.resolved for c in answer.citations]
        facts["citation_coverage"] = float(all(resolved))
        supported = support(answer)
        if supported is not None:
            facts["support"] = supported
    complete = all(says(answer.text, phrase) for phrase in query.must_contain)
    return facts | {"groundedness": float(complete and not any(says(answer.text, part) for part in query.forbidden))}


def _returned_texts(response: Response) -> str:
    """Return the answer and the texts of the hits, on lines of their own."""
    answer = response.answer.text if response.answer is not None else ""
    return "\n\0\n".join(filter(None, [answer, *(hit.text for hit in response.hits)]))


_MARKUP = re.compile(r"[`*\s]+")


def says(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase; case, backticks, asterisks and line breaks do not count."""
    return _MARKUP.sub(" ", phrase).strip().casefold() in _MARKUP.sub(" ", text).casefold()


def _token_facts(query: GoldenQuery, response: Response, level: str, matcher: Matcher) -> dict[str, float]:
    """Return the share of relevant tokens, if the system reports tokens."""
    tokens = response.tokens or sum(hit.tokens for hit in response.hits)
    if not tokens or not any(hit.tokens for hit in response.hits):
        return {}
    expected = query.at(level)
    distinct = {hit.id: hit for hit in reversed(response.hits)}  # at first occurrence
    relevant = sum(hit.tokens for hit in distinct.values() if any(matcher.matches(hit, e) for e in expected))
    return {"token_efficiency": min(1.0, relevant / tokens)}
