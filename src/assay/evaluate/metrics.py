"""Measures by name (`P@10`, `nDCG@10`, …) and their vectorised formulas. A measure prints as it parses.

    parse("nDCG@10") ──▶ Measure ──▶ values(judged run): one figure per query ──▶ mean

`evaluate` takes plain dictionaries, like pytrec_eval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.core.golden import LOWER_IS_BETTER
from assay.errors import AssayError
from assay.evaluate.judging import Floats, Ints, Judged, Level, Marks
from assay.text.suggest import did_you_mean


def precision(run: Judged, k: int, rel: int) -> Floats:
    return _nan_without_expectations(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / k)


def precision_of_returned(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's P@k: divides by min(k, returned), so a short list can score high; 0 when empty."""
    shown = np.minimum(run.returned, k)
    return _nan_without_expectations(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / np.maximum(shown, 1))


def recall(run: Judged, k: int | None, rel: int) -> Floats:
    return _ratio(run.main.found.chosen(rel, k).count(len(run)), _expected_count(run.main, rel, len(run)))


def recall_of_matches(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's R@k: counts matching results, not expectations, so it can exceed 1."""
    return _ratio(run.main.hits.chosen(rel, k).count(len(run)), _expected_count(run.main, rel, len(run)))


def document_recall(run: Judged, k: int | None, rel: int) -> Floats:
    if run.documents is None:
        return np.full(len(run), np.nan)
    return _ratio(run.documents.found.chosen(rel, k).count(len(run)), _expected_count(run.documents, rel, len(run)))


def coverage(run: Judged, budget: int, rel: int) -> Floats:
    """Return the share of the expectations among the results that fit whole into the first `budget` tokens."""
    if run.tokens is None:
        return np.full(len(run), np.nan)
    owner = np.repeat(np.arange(len(run)), run.returned)
    spent = np.cumsum(run.tokens, dtype=np.int64)
    ends = np.cumsum(run.returned, dtype=np.int64)
    before = np.concatenate(([0], spent))[ends - run.returned]  # tokens of the queries before
    fitting = np.bincount(owner[spent - before[owner] <= budget], minlength=len(run))
    marks = run.main.found.chosen(rel, None)
    shown = marks.owner[marks.rank <= fitting[marks.owner]]
    count = np.bincount(shown, minlength=len(run)).astype(np.float64)
    return _ratio(count, _expected_count(run.main, rel, len(run)))


def reciprocal_rank(run: Judged, k: int | None, rel: int) -> Floats:
    with np.errstate(divide="ignore"):
        return _nan_without_expectations(run, rel, np.where((first := first_rank(run, k, rel)) > 0, 1 / first, 0.0))


def success(run: Judged, k: int | None, rel: int) -> Floats:
    return _nan_without_expectations(run, rel, (first_rank(run, k, rel) > 0).astype(np.float64))


def average_precision(run: Judged, k: int | None, rel: int) -> Floats:
    pairs = run.main.pairs.chosen(rel, k)
    return _ratio(
        _sum_per_query(pairs, _ordinal(pairs) / pairs.rank, len(run)), _expected_count(run.main, rel, len(run))
    )


def ndcg(run: Judged, k: int | None, rel: int) -> Floats:
    return _ndcg(run, k, rel, lambda grade: grade.astype(np.float64))


def ndcg_exponential(run: Judged, k: int | None, rel: int) -> Floats:
    return _ndcg(run, k, rel, lambda grade: np.exp2(grade.astype(np.float64)) - 1)


def f1(run: Judged, k: int, rel: int) -> Floats:
    p, r = precision(run, k, rel), recall(run, k, rel)
    return np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), p)


def judged_share(run: Judged, k: int, rel: int) -> Floats:
    """Return the share of the first k results that were judged, relevant or not."""
    marks = run.main.hits
    count = np.bincount(marks.owner[marks.rank <= k], minlength=len(run)).astype(np.float64)
    return _ratio(count, np.minimum(run.returned, k).astype(np.float64))


def first_rank(run: Judged, k: int | None, rel: int) -> Floats:
    """Return the rank of each query's first relevant result; 0 where there is none."""
    marks = run.main.hits.chosen(rel, k)
    first = np.zeros(len(run))
    starts = _ordinal(marks) == 1
    first[marks.owner[starts]] = marks.rank[starts]
    return first


def _ndcg(run: Judged, k: int | None, rel: int, gain: Callable[[Ints], Floats]) -> Floats:
    def dcg(marks: Marks) -> Floats:
        return _sum_per_query(marks, gain(marks.grade) / np.log2(marks.rank + 1.0), len(run))

    return _ratio(dcg(run.main.pairs.chosen(rel, k)), dcg(run.main.wanted.chosen(rel, k)))


def _sum_per_query(marks: Marks, values: Floats, queries: int) -> Floats:
    """Sum the values of each query's marks."""
    return np.asarray(np.bincount(marks.owner, weights=values, minlength=queries), dtype=np.float64)


def _ordinal(marks: Marks) -> Floats:
    """Number each query's marks 1, 2, 3…"""
    starts = np.searchsorted(marks.owner, marks.owner)
    return np.asarray(np.arange(1, len(marks) + 1) - starts, dtype=np.float64)


def _expected_count(level: Level, rel: int, queries: int) -> Floats:
    return level.wanted.chosen(rel, None).count(queries)


def _nan_without_expectations(run: Judged, rel: int, values: Floats) -> Floats:
    return np.where(_expected_count(run.main, rel, len(run)) > 0, values, np.nan)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


# measures by name: `P@10`, `RR`, `nDCG@10`, `P(rel=2)@5`, `refusal_correctness`

Formula = Callable[[Judged, int | None, int], Floats]


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the measure table. `cut`: `@k` is required (`must`), optional (`may`) or forbidden (`no`)."""

    name: str
    meaning: str
    formula: Formula
    cut: str = "may"
    unit: str = ""  # of the cut-off: ranks, or `t` for tokens


def _fact_formula(name: str) -> Formula:
    return lambda run, k, rel: run.fact(name)


_MUST = "must"
_RANKED = (
    Kind("P", "share of the first k results that are relevant; divides by k", precision, _MUST),  # type: ignore[arg-type]
    Kind("R", "share of the expectations among the first k results", recall),
    Kind("RR", "1 / rank of the first relevant result, 0 if none", reciprocal_rank),
    Kind("AP", "average precision over the expectations", average_precision),
    Kind("nDCG", "discounted gain of the ranking over that of the ideal one; gain = grade", ndcg),
    Kind("F1", "harmonic mean of P@k and R@k", f1, _MUST),  # type: ignore[arg-type]
    Kind("Success", "1 if any of the first k results is relevant (hit@k, any-hit recall)", success),
    Kind("Judged", "share of the first k results that were judged at all", judged_share, _MUST),  # type: ignore[arg-type]
    Kind("DocR", "share of the expected documents among the first k results", document_recall),
    Kind("Cov", "share of the expectations shown whole within a token budget: Cov@2000t", coverage, _MUST, "t"),  # type: ignore[arg-type]
)
_VARIANTS = (
    Kind("P(over=returned)", "seed 000's precision: over min(k, returned)", precision_of_returned, _MUST),  # type: ignore[arg-type]
    Kind("R(count=matches)", "seed 000's recall: counts matching results, may exceed 1", recall_of_matches, _MUST),  # type: ignore[arg-type]
    Kind("nDCG(dcg=exp-log2)", "nDCG with gain 2^grade - 1", ndcg_exponential),
)
_FACTS = tuple(
    Kind(name, meaning, _fact_formula(name), "no")
    for name, meaning in (
        ("citation_coverage", "share of grounded answers whose every citation resolves"),
        ("groundedness", "share of answers with all must_contain strings and no forbidden one"),
        ("phrase_recall", "share of the must_contain phrases that occur in the returned texts or the answer"),
        ("support", "share of an answer's sentences whose words occur in the spans they cite"),
        ("refusal_correctness", "share of the questions to refuse that were refused"),
        ("unsupported_answer", "share of the questions to refuse that were answered anyway"),
        ("over_refusal", "share of the answerable questions that were refused"),
        ("closest", "share of questions for which only the closest passages were shown, without an answer"),
        ("empty_result_rate", "share of queries without any result"),
        ("failure_rate", "share of queries on which the system failed"),
        ("duplicate_rate", "share of results that repeat an earlier one"),
        ("token_efficiency", "share of the returned tokens that belong to relevant results"),
    )
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*_RANKED, *_VARIANTS, *_FACTS)}

# names used by other tools
_ALIASES = {
    "P": ("precision", "p"),
    "R": ("recall", "r"),
    "RR": ("mrr", "recip_rank", "reciprocal_rank", "rr"),
    "AP": ("map", "map_cut", "ap"),
    "nDCG": ("ndcg", "ndcg_cut"),
    "F1": ("f1",),
    "Success": ("success", "hit", "hits", "hit_rate", "hitrate", "anyhit", "any_hit", "any-hit", "any_hit_r", "acc", "accuracy"),
    "Judged": ("judged",),
    "DocR": ("docr", "doc_recall", "recall_doc"),
    "Cov": ("cov", "coverage"),
}  # fmt: skip
_BY_ALIAS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}
_SYNTAX = re.compile(
    r"(?P<name>[A-Za-z][\w-]*?)(?:\((?P<parameters>[^()]*)\))?(?:[@_.](?P<cut>-?\d+)(?P<unit>t?)(?P<doc>_doc)?)?"
)


class UnknownMeasure(AssayError):
    """An unknown or malformed measure name."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure to compute: its kind, the lowest relevant grade, and the cut-off."""

    kind: Kind
    rel: int = 1
    cut: int | None = None

    def __str__(self) -> str:
        base, _, variant = self.kind.name.partition("(")
        parameters = [variant[:-1]] if variant else []
        if self.rel != 1:
            parameters.insert(0, f"rel={self.rel}")
        inside = f"({','.join(parameters)})" if parameters else ""
        return base + inside + (f"@{self.cut}{self.kind.unit}" if self.cut is not None else "")

    @property
    def higher_is_better(self) -> bool:
        return self.kind.name not in LOWER_IS_BETTER

    def values(self, run: Judged) -> Floats:
        """Return the figure of each query; NaN where there is nothing to measure."""
        return self.kind.formula(run, self.cut, self.rel)


def parse(text: str) -> Measure:
    """Parse a measure name or alias; raise UnknownMeasure with the nearest name."""
    form = _SYNTAX.fullmatch(text.strip())
    if form is None:
        raise UnknownMeasure(f"'{text}' is not a measure. Write it like P@10, nDCG@10, RR, P(rel=2)@5. {_list_known()}")
    rel, variant = _parse_parameters(text, form["parameters"] or "")
    name = _BY_ALIAS.get(form["name"].lower(), form["name"])
    if form["doc"]:
        name = {"R": "DocR"}.get(name, f"{name}_doc")
    kind = KINDS.get(f"{name}({variant})" if variant else name)
    if kind is None:
        hint = did_you_mean(form["name"], [*KINDS, *_BY_ALIAS])
        raise UnknownMeasure(f"unknown measure '{text}'.{hint} {_list_known()}")
    cut = int(form["cut"]) if form["cut"] else None
    if cut is not None and cut < 1:
        raise UnknownMeasure(f"'{text}': the cut-off must be at least 1")
    if kind.cut == "must" and cut is None:
        raise UnknownMeasure(f"'{text}' needs a cut-off: write {text}@{'2000t' if kind.unit else '10'}")
    if cut is not None and form["unit"] != kind.unit:
        unit = "tokens: write " if kind.unit else "ranks: write "
        raise UnknownMeasure(f"'{text}': the cut-off counts {unit}{Measure(kind, rel, cut)}")
    if kind.cut == "no" and (cut is not None or rel != 1):
        raise UnknownMeasure(f"'{text}' takes no cut-off and no grade: write {kind.name}")
    return Measure(kind, rel, cut)


def _parse_parameters(text: str, inside: str) -> tuple[int, str]:
    rel, variants = 1, []
    for part in filter(None, (piece.strip() for piece in inside.split(","))):
        key, _, value = part.partition("=")
        value = value.strip().strip("'\"")
        if key.strip() == "rel":
            if not value.isdecimal() or int(value) < 1:
                raise UnknownMeasure(f"'{text}': rel must be a whole number of at least 1")
            rel = int(value)
        else:
            variants.append(f"{key.strip()}={value}")
    return rel, ",".join(variants)


def _list_known() -> str:
    return f"Known: {', '.join(KINDS)}"


BUDGET = 2000  # tokens of the default coverage: what an agent reads before it decides


def defaults(k: int) -> list[Measure]:
    """Return the measures that a run reports by default."""
    names = [f"P@{k}", f"R@{k}", f"RR@{k}", f"nDCG@{k}", f"AP@{k}", f"F1@{k}"]
    names += [f"Success@{cut}" for cut in sorted({1, 3, 5, 10, k}) if cut <= k]
    names += [f"DocR@{cut}" for cut in sorted({1, 3, 5, 10, k}) if cut <= k]
    names += [f"Cov@{BUDGET}t"]
    return [*map(parse, names), *(Measure(kind) for kind in _FACTS)]


def deepest(measures: Iterable[Measure]) -> int:
    """Return the deepest cut-off in ranks; 0 if no measure has one."""
    return max((measure.cut or 0 for measure in measures if not measure.kind.unit), default=0)


def required_depth(k: int, depth: int, measures: Sequence[Measure]) -> int:
    """Return the results to request, which every cut-off needs; 0 stands for k. Raise AssayError if `depth` is less."""
    cut = deepest(measures)
    if depth and cut > max(k, depth):
        raise AssayError(
            f"{_names_deeper(measures, max(k, depth))}: a depth of {depth} is too small; leave it out, or give {cut}"
        )
    return depth or (cut if cut > k else 0)


def require_depth(measures: Sequence[Measure], requested: int, run_id: str) -> None:
    """Raise AssayError if a run requested fewer results than a cut-off needs."""
    cut = deepest(measures)
    if cut > requested:
        raise AssayError(
            f"{_names_deeper(measures, requested)} cannot be measured: run {run_id} requested {requested} results per query. "
            f"Run it again with --depth {cut}"
        )


def _names_deeper(measures: Sequence[Measure], limit: int) -> str:
    return ", ".join(str(measure) for measure in measures if deepest([measure]) > limit)


def mean(values: Floats) -> float | None:
    """Return the mean over the measured queries, rounded to four decimals as stored; None when there are none."""
    measured = values[~np.isnan(values)]
    return rounded(float(measured.mean())) if len(measured) else None


def rounded(value: float) -> float | None:
    """Return a figure as it is stored and printed: four decimals, no negative zero; None unless it is finite."""
    return round(float(value), 4) + 0.0 if math.isfinite(value) else None


def figure(value: float | None) -> str:
    """Format a figure for a table; a dash for one that could not be measured."""
    return "–" if value is None else f"{value:.4f}"


def signed(value: float | None) -> str:
    """Format a difference with its sign."""
    return "–" if value is None else f"{value:+.4f}"


def aggregate(run: Judged, measures: Iterable[Measure]) -> dict[str, float | None]:
    """Return each measure's mean over the run."""
    return {str(measure): mean(measure.values(run)) for measure in measures}


# plain dictionaries, as in pytrec_eval: qrels {query: {doc: grade}} and a run {query: {doc: score}}

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

_BLOCK = 1 << 21  # scores sorted at a time, to stay in the CPU cache


def evaluate(qrels: Qrels, run: Run, measures: Sequence[str], ties: str = "order") -> dict[str, dict[str, float]]:
    """Return each measure per judged query, like trec_eval: a query without a relevant document scores 0."""
    judged = judge(qrels, run, ties)
    return {
        name: dict(zip(judged.queries, np.nan_to_num(parse(name).values(judged)).tolist(), strict=True))
        for name in measures
    }


def judge(qrels: Qrels, run: Run, ties: str = "order") -> Judged:
    """Judge a run at document level.

    Equal scores keep the dictionary's order, or with ties="trec" go by id, descending.
    """
    if ties not in ("order", "trec"):
        raise AssayError(f"ties='{ties}': it is 'order' (as the system returned them) or 'trec' (by id, descending)")
    queries = tuple(qrels)
    lists = [run.get(query, {}) for query in queries]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    scores = np.fromiter(chain.from_iterable(hits.values() for hits in lists), dtype=np.float64, count=lengths.sum())
    if np.isnan(scores).any():
        position = np.searchsorted(np.cumsum(lengths), np.isnan(scores).argmax(), side="right")
        raise AssayError(f"query '{queries[int(position)]}': a score is not a number")

    documents: list[str] = []
    retrieved_counts: list[int] = []
    grades: list[int] = []
    values: list[float] = []
    for judgements, hits in zip(qrels.values(), lists, strict=True):
        judged_documents = judgements.keys() & hits.keys()
        documents += judged_documents
        retrieved_counts.append(len(judged_documents))
        grades += map(judgements.__getitem__, judged_documents)
        values += map(hits.__getitem__, judged_documents)
    owner = np.repeat(np.arange(len(queries)), retrieved_counts)
    grade = np.array(grades, dtype=np.int64)

    rank, tied = _ranks(scores, lengths, owner, np.array(values, dtype=np.float64))
    for query in np.unique(owner[tied]).tolist():
        first, last = np.searchsorted(owner, (query, query + 1)).tolist()
        rank_by_document = {
            document: position for position, document in enumerate(_rank_documents(lists[query], ties), 1)
        }
        rank[first:last] = [rank_by_document[document] for document in documents[first:last]]
    order = np.argsort(owner * (int(lengths.max(initial=0)) + 1) + rank)
    marks = Marks(owner[order].astype(np.int32), rank[order].astype(np.int32), grade[order].astype(np.int32))
    level = Level(marks, marks, marks, _ideal_ranking(list(qrels.values())))
    return Judged(queries, lengths.astype(np.int32), level, documents=level)


def _ranks(
    scores: Floats, lengths: NDArray[np.int64], owner: NDArray[np.int64], targets: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rank of each given score in its query's list, as the first among equals, and a flag for ties.

    Lists are sorted in blocks of equal-width rows.
    """
    rank, tied = np.empty(len(owner), np.int64), np.empty(len(owner), np.bool_)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    first = 0
    while first < len(lengths):
        width = 1
        last = first
        while last < len(lengths) and max(width, lengths[last]) * (last - first + 1) <= max(_BLOCK, lengths[last]):
            width = max(width, int(lengths[last]))
            last += 1
        rows = np.full((last - first, width), -np.inf)
        filled = np.arange(width) < lengths[first:last, None]
        rows[filled] = scores[starts[first] : starts[last]]
        rows.sort(axis=1)
        block = slice(*np.searchsorted(owner, (first, last)))
        row = owner[block] - first
        not_above = _count_not_above(rows, row, targets[block])
        rank[block] = width - not_above + 1
        tied[block] = (not_above > 1) & (rows[row, not_above - 2] == targets[block])
        first = last
    return rank, tied


def _count_not_above(rows: Floats, row: NDArray[np.int64], value: Floats) -> NDArray[np.int64]:
    """Count the entries of each sorted row that are not greater: a vectorised binary search."""
    low, high = np.zeros(len(row), np.int64), np.full(len(row), rows.shape[1], np.int64)
    while (active := low < high).any():
        middle = (low + high) // 2
        below = (rows[row, np.minimum(middle, rows.shape[1] - 1)] <= value) & active
        low, high = np.where(below, middle + 1, low), np.where(active & ~below, middle, high)
    return low


def _rank_documents(hits: Mapping[str, float], ties: str) -> list[str]:
    """Return the documents, best first."""
    if ties == "trec":
        return sorted(hits, key=lambda document: (hits[document], document), reverse=True)
    return sorted(hits, key=hits.__getitem__, reverse=True)  # stable: ties keep the dictionary's order


def _ideal_ranking(graded: list[Mapping[str, int]]) -> Marks:
    """Return every relevant judgement of each query, best grade first."""
    counts = np.fromiter(map(len, graded), dtype=np.int64, count=len(graded))
    grades = np.array(list(chain.from_iterable(judgements.values() for judgements in graded)), dtype=np.int64)
    owner = np.repeat(np.arange(len(graded)), counts)
    owner, grades = owner[grades > 0], grades[grades > 0]
    top = int(grades.max(initial=0)) + 1
    packed = np.sort(owner * top + (top - 1 - grades))  # by query, then grade descending, in one sort of integers
    owner, grades = packed // top, top - 1 - packed % top
    rank = np.arange(1, len(owner) + 1) - np.searchsorted(owner, owner)
    return Marks(owner.astype(np.int32), rank.astype(np.int32), grades.astype(np.int32))
