"""Measures by name: `P@10`, `R@10`, `RR`, `nDCG@10`, `P(rel=2)@5`, `refusal_correctness`. A measure prints as it parses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from assay.errors import AssayError
from assay.evaluate.metrics import kernel
from assay.evaluate.metrics.judged import Floats, Judged
from assay.text.identifiers import nearest

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
    Kind("P", "share of the first k results that are relevant; divides by k", kernel.precision, _K),  # type: ignore[arg-type]
    Kind("R", "share of the expected things among the first k results", kernel.recall),
    Kind("RR", "1 / rank of the first relevant result, 0 if none", kernel.reciprocal_rank),
    Kind("AP", "average precision over the expected things", kernel.average_precision),
    Kind("nDCG", "discounted gain of the ranking over that of the ideal one; gain = grade", kernel.ndcg),
    Kind("F1", "harmonic mean of P@k and R@k", kernel.f1, _K),  # type: ignore[arg-type]
    Kind("Success", "1 if any of the first k results is relevant (hit@k, any-hit recall)", kernel.success),
    Kind("Judged", "share of the first k results that were judged at all", kernel.judged_share, _K),  # type: ignore[arg-type]
    Kind("DocR", "share of the expected documents among the first k results", kernel.document_recall),
)
_VARIANTS = (
    Kind("P(over=returned)", "seed 000's precision: over min(k, returned)", kernel.precision_of_returned, _K),  # type: ignore[arg-type]
    Kind("R(count=matches)", "seed 000's recall: counts matching results, may exceed 1", kernel.recall_of_matches, _K),  # type: ignore[arg-type]
    Kind("nDCG(dcg=exp-log2)", "nDCG with gain 2^grade - 1", kernel.ndcg_exponential),
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
