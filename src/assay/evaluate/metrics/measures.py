"""Measures by name (`P@10`, `nDCG@10`, …) and their vectorised formulas. A measure prints as it parses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.evaluate.metrics.judged import Floats, Ints, Judged, Level, Marks
from assay.text.terms import nearest


def precision(run: Judged, k: int, rel: int) -> Floats:
    return _where_wanted(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / k)


def precision_of_returned(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's P@k: over min(k, returned), so a short list can score high. 0 when nothing was returned."""
    shown = np.minimum(run.returned, k)
    return _where_wanted(run, rel, run.main.hits.chosen(rel, k).count(len(run)) / np.maximum(shown, 1))


def recall(run: Judged, k: int | None, rel: int) -> Floats:
    return _share(run.main.found.chosen(rel, k).count(len(run)), _wanted(run.main, rel, len(run)))


def recall_of_matches(run: Judged, k: int, rel: int) -> Floats:
    """Seed 000's R@k: counts matching results, not expected things, so it can exceed 1."""
    return _share(run.main.hits.chosen(rel, k).count(len(run)), _wanted(run.main, rel, len(run)))


def document_recall(run: Judged, k: int | None, rel: int) -> Floats:
    if run.documents is None:
        return np.full(len(run), np.nan)
    return _share(run.documents.found.chosen(rel, k).count(len(run)), _wanted(run.documents, rel, len(run)))


def reciprocal_rank(run: Judged, k: int | None, rel: int) -> Floats:
    with np.errstate(divide="ignore"):
        return _where_wanted(run, rel, np.where((first := first_rank(run, k, rel)) > 0, 1 / first, 0.0))


def success(run: Judged, k: int | None, rel: int) -> Floats:
    return _where_wanted(run, rel, (first_rank(run, k, rel) > 0).astype(np.float64))


def average_precision(run: Judged, k: int | None, rel: int) -> Floats:
    pairs = run.main.pairs.chosen(rel, k)
    return _share(_sum(pairs, _ordinal(pairs) / pairs.rank, len(run)), _wanted(run.main, rel, len(run)))


def ndcg(run: Judged, k: int | None, rel: int) -> Floats:
    return _discounted(run, k, rel, lambda grade: grade.astype(np.float64))


def ndcg_exponential(run: Judged, k: int | None, rel: int) -> Floats:
    return _discounted(run, k, rel, lambda grade: np.exp2(grade.astype(np.float64)) - 1)


def f1(run: Judged, k: int, rel: int) -> Floats:
    p, r = precision(run, k, rel), recall(run, k, rel)
    return np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), p)


def judged_share(run: Judged, k: int, rel: int) -> Floats:
    """The share of the results shown that anybody judged, relevant or not."""
    marks = run.main.hits
    count = np.bincount(marks.owner[marks.rank <= k], minlength=len(run)).astype(np.float64)
    return _share(count, np.minimum(run.returned, k).astype(np.float64))


def first_rank(run: Judged, k: int | None, rel: int) -> Floats:
    """The rank of the first relevant result of each query; 0 where there is none."""
    marks = run.main.hits.chosen(rel, k)
    first = np.zeros(len(run))
    starts = _ordinal(marks) == 1
    first[marks.owner[starts]] = marks.rank[starts]
    return first


def _discounted(run: Judged, k: int | None, rel: int, gain: Callable[[Ints], Floats]) -> Floats:
    def dcg(marks: Marks) -> Floats:
        return _sum(marks, gain(marks.grade) / np.log2(marks.rank + 1.0), len(run))

    return _share(dcg(run.main.pairs.chosen(rel, k)), dcg(run.main.wanted.chosen(rel, k)))


def _sum(marks: Marks, values: Floats, queries: int) -> Floats:
    """The values of each query's marks, added up."""
    return np.asarray(np.bincount(marks.owner, weights=values, minlength=queries), dtype=np.float64)


def _ordinal(marks: Marks) -> Floats:
    """1, 2, 3… within each query."""
    starts = np.searchsorted(marks.owner, marks.owner)
    return np.asarray(np.arange(1, len(marks) + 1) - starts, dtype=np.float64)


def _wanted(level: Level, rel: int, queries: int) -> Floats:
    return level.wanted.chosen(rel, None).count(queries)


def _where_wanted(run: Judged, rel: int, values: Floats) -> Floats:
    return np.where(_wanted(run.main, rel, len(run)) > 0, values, np.nan)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


# Measures by name: `P@10`, `R@10`, `RR`, `nDCG@10`, `P(rel=2)@5`, `refusal_correctness`. A measure prints as it
# parses.

Formula = Callable[[Judged, int | None, int], Floats]


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table of measures. `cut`: whether `@k` must, may or must not follow."""

    name: str
    meaning: str
    formula: Formula
    cut: str = "may"
    better: str = "higher"


def _fact(name: str) -> Formula:
    return lambda run, k, rel: run.fact(name)


_K = "must"
_RANKED = (
    Kind("P", "share of the first k results that are relevant; divides by k", precision, _K),  # type: ignore[arg-type]
    Kind("R", "share of the expected things among the first k results", recall),
    Kind("RR", "1 / rank of the first relevant result, 0 if none", reciprocal_rank),
    Kind("AP", "average precision over the expected things", average_precision),
    Kind("nDCG", "discounted gain of the ranking over that of the ideal one; gain = grade", ndcg),
    Kind("F1", "harmonic mean of P@k and R@k", f1, _K),  # type: ignore[arg-type]
    Kind("Success", "1 if any of the first k results is relevant (hit@k, any-hit recall)", success),
    Kind("Judged", "share of the first k results that were judged at all", judged_share, _K),  # type: ignore[arg-type]
    Kind("DocR", "share of the expected documents among the first k results", document_recall),
)
_VARIANTS = (
    Kind("P(over=returned)", "seed 000's precision: over min(k, returned)", precision_of_returned, _K),  # type: ignore[arg-type]
    Kind("R(count=matches)", "seed 000's recall: counts matching results, may exceed 1", recall_of_matches, _K),  # type: ignore[arg-type]
    Kind("nDCG(dcg=exp-log2)", "nDCG with gain 2^grade - 1", ndcg_exponential),
)
_FACTS = tuple(
    Kind(name, meaning, _fact(name), "no", better)
    for name, meaning, better in (
        ("citation_coverage", "share of grounded answers whose every citation resolves", "higher"),
        ("groundedness", "share of answers with all must_contain strings and no forbidden one", "higher"),
        ("support", "share of an answer's sentences whose words stand in the spans they cite", "higher"),
        ("refusal_correctness", "share of the questions to refuse that were refused", "higher"),
        ("unsupported_answer", "share of the questions to refuse that were answered all the same", "lower"),
        ("over_refusal", "share of the answerable questions that were refused", "lower"),
        ("empty_result_rate", "share of queries without any result", "lower"),
        ("failure_rate", "share of queries on which the system failed", "lower"),
        ("duplicate_rate", "share of results that repeat an earlier one", "lower"),
        ("token_efficiency", "share of the returned tokens that belong to relevant results", "higher"),
    )
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*_RANKED, *_VARIANTS, *_FACTS)}

# other people's names for the same things; {k} stands for the cut-off
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
}  # fmt: skip
_BY_ALIAS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}
_FORM = re.compile(r"(?P<name>[A-Za-z][\w-]*?)(?:\((?P<parameters>[^()]*)\))?(?:[@_.](?P<cut>-?\d+)(?P<doc>_doc)?)?")


class UnknownMeasure(AssayError):
    """A measure nobody knows, or one written wrongly."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure to compute: a kind, the grade from which something is relevant, and the cut-off."""

    kind: Kind
    rel: int = 1
    cut: int | None = None

    def __str__(self) -> str:
        base, _, variant = self.kind.name.partition("(")
        parameters = [variant[:-1]] if variant else []
        if self.rel != 1:
            parameters.insert(0, f"rel={self.rel}")
        inside = f"({','.join(parameters)})" if parameters else ""
        return base + inside + (f"@{self.cut}" if self.cut is not None else "")

    @property
    def higher_is_better(self) -> bool:
        return self.kind.better == "higher"

    def values(self, run: Judged) -> Floats:
        """The figure of each query; NaN where there is nothing to measure."""
        return self.kind.formula(run, self.cut, self.rel)


def parse(text: str) -> Measure:
    """A measure from its name or an alias; an unknown name is an error that offers the nearest."""
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise UnknownMeasure(f"'{text}' is not a measure. Write it like P@10, nDCG@10, RR, P(rel=2)@5. {_known()}")
    rel, variant = _parameters(text, form["parameters"] or "")
    name = _BY_ALIAS.get(form["name"].lower(), form["name"])
    if form["doc"]:
        name = {"R": "DocR"}.get(name, f"{name}_doc")
    kind = KINDS.get(f"{name}({variant})" if variant else name)
    if kind is None:
        names = [*KINDS, *_BY_ALIAS]
        near = nearest(form["name"], names, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise UnknownMeasure(f"unknown measure '{text}'.{hint} {_known()}")
    cut = int(form["cut"]) if form["cut"] else None
    if cut is not None and cut < 1:
        raise UnknownMeasure(f"'{text}': the cut-off must be at least 1")
    if kind.cut == "must" and cut is None:
        raise UnknownMeasure(f"'{text}' needs a cut-off: write {text}@10")
    if kind.cut == "no" and (cut is not None or rel != 1):
        raise UnknownMeasure(f"'{text}' takes no cut-off and no grade: write {kind.name}")
    return Measure(kind, rel, cut)


def _parameters(text: str, inside: str) -> tuple[int, str]:
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


def _known() -> str:
    return f"Known: {', '.join(KINDS)}"


def defaults(k: int) -> list[Measure]:
    """What a run reports unless told otherwise."""
    names = [f"P@{k}", f"R@{k}", f"RR@{k}", f"nDCG@{k}", f"AP@{k}", f"F1@{k}"]
    names += [f"Success@{cut}" for cut in sorted({1, 3, 5, 10, k}) if cut <= k]
    names += [f"DocR@{cut}" for cut in sorted({1, 3, 5, 10, k}) if cut <= k]
    return [*map(parse, names), *(Measure(kind) for kind in _FACTS)]


def mean(values: Floats) -> float | None:
    """The mean over the queries that were measured; null when there is none. Rounded to four decimals, as stored."""
    measured = values[~np.isnan(values)]
    return round(float(measured.mean()), 4) + 0.0 if len(measured) else None


def aggregate(run: Judged, measures: Iterable[Measure]) -> dict[str, float | None]:
    """Each measure's mean over the run."""
    return {str(measure): mean(measure.values(run)) for measure in measures}


# Judging plain dictionaries, as pytrec_eval takes them: qrels {query: {doc: grade}} and a run {query: {doc:
# score}}.

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

_BLOCK = 1 << 21  # scores sorted at a time: what stays in the cache


def evaluate(qrels: Qrels, run: Run, measures: Sequence[str], ties: str = "order") -> dict[str, dict[str, float]]:
    """Each measure's value for each judged query, as trec_eval counts: a query without a relevant document scores 0."""
    judged = judge(qrels, run, ties)
    return {
        name: dict(zip(judged.queries, np.nan_to_num(parse(name).values(judged)).tolist(), strict=True))
        for name in measures
    }


def judge(qrels: Qrels, run: Run, ties: str = "order") -> Judged:
    """Judges a run at document level. Ties in score keep the order of the dictionary, or with `trec` go by id, descending."""
    if ties not in ("order", "trec"):
        raise AssayError(f"ties='{ties}': it is 'order' (as the system returned them) or 'trec' (by id, descending)")
    queries = tuple(qrels)
    lists = [run.get(query, {}) for query in queries]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    scores = np.fromiter(chain.from_iterable(hits.values() for hits in lists), dtype=np.float64, count=lengths.sum())
    if np.isnan(scores).any():
        raise AssayError(f"query '{queries[_owner_of(lengths, np.isnan(scores).argmax())]}': a score is not a number")

    documents: list[str] = []
    found: list[int] = []
    grades: list[int] = []
    values: list[float] = []
    for judgements, hits in zip(qrels.values(), lists, strict=True):
        common = judgements.keys() & hits.keys()
        documents += common
        found.append(len(common))
        grades += map(judgements.__getitem__, common)
        values += map(hits.__getitem__, common)
    owner = np.repeat(np.arange(len(queries)), found)
    grade = np.array(grades, dtype=np.int64)

    rank, tied = _ranks(scores, lengths, owner, np.array(values, dtype=np.float64))
    for query in np.unique(owner[tied]).tolist():
        first, last = np.searchsorted(owner, (query, query + 1)).tolist()
        places = {document: place for place, document in enumerate(_ranked(lists[query], ties), 1)}
        rank[first:last] = [places[document] for document in documents[first:last]]
    order = np.argsort(owner * (int(lengths.max(initial=0)) + 1) + rank)
    marks = Marks(owner[order].astype(np.int32), rank[order].astype(np.int32), grade[order].astype(np.int32))
    level = Level(marks, marks, marks, _ideal(list(qrels.values())))
    return Judged(queries, lengths.astype(np.int32), level, documents=level)


def _ranks(
    scores: Floats, lengths: NDArray[np.int64], owner: NDArray[np.int64], wanted: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rank of each wanted score in its query's list as if it stood first among equals, and whether it has equals."""
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
        here = slice(*np.searchsorted(owner, (first, last)))
        row = owner[here] - first
        not_above = _not_above(rows, row, wanted[here])
        rank[here] = width - not_above + 1
        tied[here] = (not_above > 1) & (rows[row, not_above - 2] == wanted[here])
        first = last
    return rank, tied


def _not_above(rows: Floats, row: NDArray[np.int64], value: Floats) -> NDArray[np.int64]:
    """How many entries of each value's sorted row are not greater: a binary search for all values at once."""
    low, high = np.zeros(len(row), np.int64), np.full(len(row), rows.shape[1], np.int64)
    while (open_ := low < high).any():
        middle = (low + high) // 2
        below = (rows[row, np.minimum(middle, rows.shape[1] - 1)] <= value) & open_
        low, high = np.where(below, middle + 1, low), np.where(open_ & ~below, middle, high)
    return low


def _ranked(hits: Mapping[str, float], ties: str) -> list[str]:
    """The documents, best first."""
    if ties == "trec":
        return sorted(hits, key=lambda document: (hits[document], document), reverse=True)
    return sorted(hits, key=hits.__getitem__, reverse=True)  # stable: equals stay in the order of the dictionary


def _ideal(graded: list[Mapping[str, int]]) -> Marks:
    """Every relevant judgement of each query, best grade first."""
    counts = np.fromiter(map(len, graded), dtype=np.int64, count=len(graded))
    grades = np.array(list(chain.from_iterable(judgements.values() for judgements in graded)), dtype=np.int64)
    owner = np.repeat(np.arange(len(graded)), counts)
    owner, grades = owner[grades > 0], grades[grades > 0]
    top = int(grades.max(initial=0)) + 1
    packed = np.sort(owner * top + (top - 1 - grades))  # by query, then grade descending, in one sort of integers
    owner, grades = packed // top, top - 1 - packed % top
    place = np.arange(1, len(owner) + 1) - np.searchsorted(owner, owner)
    return Marks(owner.astype(np.int32), place.astype(np.int32), grades.astype(np.int32))


def _owner_of(lengths: NDArray[np.int64], position: Any) -> int:
    return int(np.searchsorted(np.cumsum(lengths), position, side="right"))
