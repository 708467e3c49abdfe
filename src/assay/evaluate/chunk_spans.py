"""Runs of different chunkers: chunk ids differ, so expected chunks are matched by document and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from assay.core.golden import Expected, GoldenQuery, Response
from assay.evaluate.judging import Judged, judge
from assay.evaluate.matching import MATCHERS, matcher
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.scores import matched_ranks

Span = tuple[str, int, int]  # document, first and last line (or character)


@dataclass(frozen=True, slots=True)
class SpanRun:
    """A run with its expected chunks converted to spans."""

    queries: tuple[GoldenQuery, ...]
    responses: list[Response]

    def judged(self) -> Judged:
        return judge(self.queries, self.responses, MATCHERS["span"], "span")

    @property
    def unknown(self) -> int:
        """Count the expected chunks without a known span."""
        return sum(not (expected.end or expected.page) for query in self.queries for expected in query.at("span"))


def convert_to_spans(store: RunStore, a: RunInfo, b: RunInfo) -> tuple[SpanRun, SpanRun]:
    """Convert two runs to spans.

    The span of an expected chunk is the golden set's, else that of a hit with its id in run a, else in run b.
    """
    queries_a, queries_b = (store.golden(run).queries for run in (a, b))
    answers_a, answers_b = store.responses(a.run_id, len(queries_a)), store.responses(b.run_id, len(queries_b))
    spans = _spans(answers_b) | _spans(answers_a)  # the golden set was written for the ids of a
    return _span_run(queries_a, answers_a, spans), _span_run(queries_b, answers_b, spans)


def _spans(responses: Iterable[Response]) -> dict[str, Span]:
    return {hit.id: (hit.document, hit.start, hit.end) for answer in responses for hit in answer.hits if hit.end}


def _span_run(queries: Sequence[GoldenQuery], responses: list[Response], spans: dict[str, Span]) -> SpanRun:
    converted = (replace(q, expected=tuple(_as_span(expected, spans) for expected in q.expected)) for q in queries)
    return SpanRun(tuple(converted), responses)


def _as_span(expected: Expected, spans: dict[str, Span]) -> Expected:
    if expected.level != "chunk":
        return expected
    if expected.end:
        return replace(expected, level="span")
    doc, start, end = spans.get(expected.name, ("", 0, 0))
    return replace(expected, level="span", doc=doc, start=start, end=end)


# query positions and k → per query, the matched expectations within the first k with their rank
RankLookup = Callable[[Sequence[int], int], list[dict[str, int]]]


def rank_lookup(store: RunStore, run: RunInfo, side: SpanRun | None) -> RankLookup:
    """Return a function that gives the ranks of a run's matched expectations."""

    def ranks_at(positions: Sequence[int], k: int) -> list[dict[str, int]]:
        if side:
            pairs = [(side.queries[position], side.responses[position]) for position in positions]
            match_by, level = MATCHERS["span"], "span"
        else:
            pairs = list(zip(store.queries(run, positions), store.responses_at(run.run_id, positions), strict=True))
            match_by, level = matcher(run.matching), run.level
        return [matched_ranks(query, response.hits[:k], match_by, level) for query, response in pairs]

    return ranks_at
