"""Merge definitions, files and passages into one ranking: a linear model of features, the same scale for all.

The model was trained on questions whose answers are known (`scripts/train_search.py`, eval/search): the features of a
candidate and the wording of the query (`intent.py`) give its log odds of being what was wanted. Contributions of the
features add up to the score, so every rank can be explained.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import AssayError
from assay.languages.conventions import is_test_path
from assay.rank.arrays import Floats
from assay.search.code_ranker import CodeCandidates
from assay.search.hits import Scored, SearchHit
from assay.search.intent import asks_for_amount, asks_how
from assay.search.passage_ranker import Word
from assay.search.similar_words import SimilarWords
from assay.text.terms import terms

MODEL = "merge.json"
FORMAT = 1
CODE, PASSAGE = "code", "passage"  # groups of candidates; each has weights of its own

_CHANGES = re.compile(r"(^|/)(changelog|changes|history|news|release|what.?s.?new)", re.IGNORECASE)
_NEWS = re.compile(r"(^|/)(blog|posts?)/|release.?notes", re.IGNORECASE)
_MANUAL = re.compile(r"(^|/)(docs?|documentation|guides?|website|manual|book)/", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+\b")
_DEFAULT = re.compile(r"\bdefault", re.IGNORECASE)
_CODE_BLOCK = re.compile(r"```|\n    ")
_README = re.compile(r"(^|/)readme\b", re.IGNORECASE)
_SHORT = 300  # characters; shorter passages are often stubs, longer ones are no better for being long
_PER_FILE = 2  # hits of a file before hits of others
_TOP, _PASSAGES_IN_TOP = 5, 2
_MIN_RELATIVE_ODDS = 0.2  # of a passage that is moved up, relative to the first hit


@dataclass(frozen=True, slots=True)
class Group:
    """The weights of one group of candidates: name, mean and weight of each feature."""

    names: tuple[str, ...]
    means: Floats
    weights: Floats

    def contributions(self, features: Mapping[str, Floats], size: int) -> Floats:
        """Return the contribution of each feature to each candidate's score; a missing feature contributes nothing."""
        columns = zip(self.names, self.means, strict=True)
        values = np.array([np.broadcast_to(features.get(name, mean), size) for name, mean in columns]).T
        return np.asarray((values.reshape(size, len(self.names)) - self.means) * self.weights, np.float64)


class Contributions(Mapping[str, float]):
    """Contributions of features to one candidate's score: a row of the matrix, since most candidates are never shown."""

    def __init__(self, names: Sequence[str], row: Floats) -> None:
        self._names, self._row = names, row

    def __getitem__(self, name: str) -> float:
        if name not in self._names:
            raise KeyError(name)
        return float(self._row[self._names.index(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Contributions({dict(self)})"


@dataclass(frozen=True, slots=True)
class Model:
    """Log odds of code and of passages, and their conversion to probabilities."""

    groups: Mapping[str, Group]
    base: Mapping[str, float]  # score of an average candidate, by group
    slope: float  # of the calibration: odds of being relevant by score
    offset: float

    def probability(self, scores: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-(self.slope * scores + self.offset))), np.float64)


def read_model(stored: Mapping[str, Any]) -> Model:
    """Return the model of a data file. Raises AssayError if it is of another format."""
    if stored.get("format") != FORMAT:
        raise AssayError(f"{MODEL}: format {stored.get('format')}, not {FORMAT}. Reinstall assay.")
    groups = {}
    for name in (CODE, PASSAGE):
        rows = stored[name]["features"]
        means, weights = np.array([*rows.values()], np.float64).reshape(-1, 2).T
        groups[name] = Group(tuple(rows), means, weights)
    base = {name: float(stored[name]["base"]) for name in groups}
    return Model(groups, base, float(stored["slope"]), float(stored["offset"]))


@cache
def shipped() -> Model:
    """Return the model that ships with assay."""
    return read_model(json.loads(Path(__file__).with_name(MODEL).read_text("utf-8")))


def passage_features(
    hits: Sequence[SearchHit],
    blended: Sequence[float],
    reranked: Sequence[float],  # empty without a reranker: the blended score, its main part, stands for it
    idf: Mapping[Word, float],
    text_coverage: Floats,  # share of the query's words, by rarity, in each text
    query: str,
    similar: SimilarWords | None = None,
) -> dict[str, Floats]:
    """Return the features of passages, given in the order of their blended scores; `idf` has the query's words.

    Without general word vectors (`similar`) the features that need them are missing.
    """
    total = sum(idf.values()) or 1.0
    asked = {form for word in idf for form in word}

    @cache  # passages share paths and headings
    def coverage(text: str) -> float:
        present = set(terms(text))
        return sum(weight for word, weight in idf.items() if not present.isdisjoint(word)) / total

    @cache
    def precision(heading: str) -> float:
        named = set(terms(heading))
        return len(named & asked) / max(len(named), 1)

    def matches(pattern: re.Pattern[str], if_asked: bool) -> Floats:
        return np.array([if_asked and pattern.search(hit.text) is not None for hit in hits], np.float64)

    amount = asks_for_amount(query)
    ranks = np.arange(len(hits), dtype=np.float64)
    return {
        "reranker": np.array(reranked if len(reranked) else blended, np.float64),
        "blend": np.array(blended, np.float64),
        "lexical": np.array([hit.lexical / total for hit in hits], np.float64),
        "reciprocal rank": 1 / (1 + ranks),
        "heading": np.array([coverage(" ".join(hit.headings)) for hit in hits], np.float64),
        "coverage": text_coverage,
        "path": np.array([coverage(hit.path) for hit in hits], np.float64),
        "list of changes": np.array([bool(_CHANGES.search(hit.path)) for hit in hits], np.float64),
        "test": np.array([is_test_path(hit.path) for hit in hits], np.float64),
        "readme": np.array([bool(_README.search(hit.path)) for hit in hits], np.float64),
        "news": np.array([bool(_NEWS.search(hit.path)) for hit in hits], np.float64),
        "manual": np.array([bool(_MANUAL.search(hit.path)) for hit in hits], np.float64),
        "innermost heading, precision": np.array([precision(" ".join(hit.headings[-1:])) for hit in hits], np.float64),
        "length, if short": np.array([math.log1p(min(len(hit.text), _SHORT)) for hit in hits], np.float64),
        "number, if asked for an amount": matches(_NUMBER, amount),
        "default, if asked for an amount": matches(_DEFAULT, amount),
        "code, if asked how": matches(_CODE_BLOCK, asks_how(query)),
        **(_similar_features(hits, similar) if similar else {}),
    }


def _similar_features(hits: Sequence[SearchHit], similar: SimilarWords) -> dict[str, Floats]:
    """Return how well similar words cover the query: in the text, in its best window, in the headings."""
    whole, window = similar.coverages(similar.rows([hit.text for hit in hits]))
    titles = list({hit.headings: 0 for hit in hits})  # passages share headings
    by_title = dict(zip(titles, similar.coverage(similar.rows([*map(" ".join, titles)])).tolist(), strict=True))
    return {
        "similar words": whole,
        "similar words, together": window,
        "similar words, headings": np.array([by_title[hit.headings] for hit in hits], np.float64),
    }


def scored(
    model: Model,
    wording: Mapping[str, float],
    passages: Sequence[Scored],
    passage_values: Mapping[str, Floats],
    code: CodeCandidates | None,
    first_item: int,
) -> list[Scored]:
    """Return all candidates with their probability of being wanted as score, best first.

    `first_item` is the candidate number of item 0: passages are numbered before the items.
    """
    ranked, totals = list[Scored](), [np.zeros(0)]
    for group, candidates, values in (
        (PASSAGE, passages, passage_values),
        (CODE, _as_scored(code, first_item) if code else (), code.features if code else {}),
    ):
        if not candidates:
            continue
        weights = model.groups[group]
        amounts = weights.contributions({**values, **_by_query(wording)}, len(candidates))
        totals.append(amounts.sum(axis=1) + model.base[group])
        ranked += [
            Scored(candidate.number, chance, candidate.lexical, candidate.vector, Contributions(weights.names, row))
            for chance, candidate, row in zip(model.probability(totals[-1]).tolist(), candidates, amounts, strict=True)
        ]
    return [ranked[place] for place in np.argsort(-np.concatenate(totals), kind="stable").tolist()]


def _as_scored(code: CodeCandidates, first_item: int) -> list[Scored]:
    return [
        Scored(number + first_item, 0.0, lexical)
        for number, lexical in zip(code.numbers.tolist(), code.lexical.tolist(), strict=True)
    ]


def _by_query(wording: Mapping[str, float]) -> dict[str, Floats]:
    """Return the features of the query, the same for all candidates."""
    return {f"query {name}": np.array(value) for name, value in wording.items()}


def spread(
    ranking: Iterable[Scored], paths: Mapping[int, str], by_file: bool = False, passages: int = 0
) -> list[Scored]:
    """Move further hits of a file behind the first two of every file, or leave them out; otherwise the order stays.

    Candidates below `passages` are passages; two of the first five are, where they are likely enough.
    """
    most = 1 if by_file else _PER_FILE
    first, later, counts = list[Scored](), list[Scored](), dict[str, int]()
    for candidate in ranking:
        path = paths[candidate.number]
        counts[path] = counts.get(path, 0) + 1
        (first if counts[path] <= most else later).append(candidate)
    first = _with_passages(first, passages)
    return first if by_file else [*first, *later]


def _with_passages(ranking: Sequence[Scored], passages: int) -> list[Scored]:
    """Move the best passages up to the end of the first five, if code fills them and the passages are likely enough.

    The wording of a query leaves it open whether it wants code or documents more often than a linear model can express.
    """
    top, rest = ranking[:_TOP], ranking[_TOP:]
    missing = _PASSAGES_IN_TOP - sum(candidate.number < passages for candidate in top)
    if missing <= 0 or not rest:
        return list(ranking)
    least = _MIN_RELATIVE_ODDS * _odds(top[0])
    moved = [passage for passage in rest if passage.number < passages and _odds(passage) >= least][:missing]
    code = [candidate for candidate in top if candidate.number >= passages]
    behind = code[len(code) - len(moved) :]
    stay = [candidate for candidate in top if candidate not in behind]
    return [*stay, *moved, *behind, *(candidate for candidate in rest if candidate not in moved)]


def _odds(candidate: Scored) -> float:
    return candidate.score / max(1 - candidate.score, 1e-9)
