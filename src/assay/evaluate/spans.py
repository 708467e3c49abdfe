"""Chunks of different chunkers held against one golden set: ids say nothing across them, documents and spans do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.core.golden import Expected, GoldenQuery
from assay.core.hits import Response
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.metrics.judged import Judged
from assay.evaluate.runs import RunInfo, RunStore

Span = tuple[str, int, int]  # document, first and last line (or character)


@dataclass(frozen=True, slots=True)
class BySpan:
    """A run whose expected chunks are spans of documents now."""

    queries: tuple[GoldenQuery, ...]
    responses: list[Response]

    def judged(self) -> Judged:
        return judge(self.queries, self.responses, MATCHERS["span"], "span")

    @property
    def unknown(self) -> int:
        """Expected chunks of which nobody says where they are."""
        return sum(not (expected.end or expected.page) for query in self.queries for expected in query.at("span"))


def by_span(store: RunStore, a: RunInfo, b: RunInfo) -> tuple[BySpan, BySpan]:
    """Two runs by document and span: an expected chunk's span is the golden set's, else that of a hit of run a with its id, else of b."""
    sets = [store.golden(run).queries for run in (a, b)]
    answers = [store.responses(run.run_id, len(queries)) for run, queries in zip((a, b), sets, strict=True)]
    spans = _spans(answers[1]) | _spans(answers[0])  # ids of a are those the set was written for
    first, second = (
        BySpan(tuple(_moved(query, spans) for query in queries), responses)
        for queries, responses in zip(sets, answers, strict=True)
    )
    return first, second


def _spans(responses: Iterable[Response]) -> dict[str, Span]:
    return {hit.id: (hit.document, hit.start, hit.end) for one in responses for hit in one.hits if hit.end}


def _moved(query: GoldenQuery, spans: dict[str, Span]) -> GoldenQuery:
    """The query with its expected chunks as spans."""
    return replace(query, expected=tuple(_at(expected, spans) for expected in query.expected))


def _at(expected: Expected, spans: dict[str, Span]) -> Expected:
    if expected.level != "chunk":
        return expected
    doc, start, end = (
        (expected.doc, expected.start, expected.end) if expected.end else spans.get(expected.name, ("", 0, 0))
    )
    return replace(expected, level="span", doc=doc, start=start, end=end)


def answered(side: BySpan, positions: Sequence[int]) -> list[tuple[GoldenQuery, Response]]:
    """Some queries of a side, with what was answered."""
    return [(side.queries[position], side.responses[position]) for position in positions]
