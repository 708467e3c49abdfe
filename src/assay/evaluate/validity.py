"""Validity of a run: what shows that its figures measure the system, and not a trap.

    golden set × system ──▶ cautions before the run ──┐
    responses ──▶ judged ─────────────────────────────┴─▶ Sanity: a check each of judgements, failures, ids, depth, …

A table of zeros, or of ones, that is due to a trap looks like a finding. A run with an invalid check is no measurement:
commands exit with 2, gates and comparisons refuse it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.core.cautions import Caution
from assay.core.golden import Expected, GoldenSet, Hit, Response
from assay.evaluate.judging import Judged
from assay.evaluate.matching import components, path_in
from assay.evaluate.metrics import Measure, deepest
from assay.evaluate.runs import RunInfo
from assay.text.display import counted

OK, WARNING, INVALID = "ok", "warning", "invalid"


@dataclass(frozen=True, slots=True)
class SanityCheck:
    """The state of a check: ok, warning, or invalid (the run is no measurement). `code` is that of its caution."""

    name: str
    state: str
    message: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Sanity:
    """The checks of a run, in a fixed order."""

    checks: tuple[SanityCheck, ...]

    @property
    def is_measurement(self) -> bool:
        return all(check.state != INVALID for check in self.checks)

    @property
    def reason(self) -> str:
        """The reason that the run is not a measurement; empty when it is one."""
        return "; ".join(check.message for check in self.checks if check.state == INVALID)

    @property
    def cautions(self) -> list[Caution]:
        """The checks that are not ok as warnings; those without a code were warnings before the run."""
        return [Caution(check.code, check.message) for check in self.checks if check.state != OK and check.code]

    def as_json(self) -> dict[str, Any]:
        return {"measurement": self.is_measurement, "checks": [asdict(check) for check in self.checks]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sanity:
        """Return a stored value; empty for a run that was stored before it existed, or a damaged one."""
        rows = value.get("checks")
        names = SanityCheck.__dataclass_fields__
        mappings = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return cls(tuple(SanityCheck(**{name: str(row.get(name, "")) for name in names}) for row in mappings))

    def __getitem__(self, name: str) -> SanityCheck:
        return next(check for check in self.checks if check.name == name)

    def __repr__(self) -> str:
        lines = [f"\n  {check.name:10} {check.state:7} {check.message}" for check in self.checks]
        return f"<Sanity: {'a measurement' if self.is_measurement else 'not a measurement'}{''.join(lines)}>"


# after the run: the checks, one function each


class _Run(NamedTuple):
    """A judged run as the checks see it."""

    info: RunInfo
    golden: GoldenSet
    responses: Sequence[Response]
    judged: Judged
    measures: Sequence[Measure]

    @property
    def answerable(self) -> list[Response]:
        """Responses to queries that have an answer, without failures."""
        pairs = zip(self.golden.queries, self.responses, strict=True)
        return [response for query, response in pairs if not query.refuse and not response.error]


Finding = tuple[str, str, str]  # state, message, code


def assess(
    info: RunInfo, golden: GoldenSet, responses: Sequence[Response], judged: Judged, measures: Sequence[Measure]
) -> Sanity:
    """Check a judged run: its responses, and its cautions from before it began."""
    run = _Run(info, golden, responses, judged, measures)
    return Sanity(tuple(SanityCheck(name, *check(run)) for name, check in _CHECKS.items()))


def _judgements(run: _Run) -> Finding:
    queries, level = run.golden.queries, run.info.level
    judged = len(set(run.judged.main.wanted.owner.tolist()))
    unjudged = len(queries) - judged - sum(query.refuse for query in queries)
    others = (query.at("doc") or query.refuse or query.must_contain or query.forbidden for query in queries)
    if not judged and not any(others):
        message = f"nothing could be judged: none of {counted(len(queries), 'query', 'queries')} has an expectation at level {level}"
        if not run.golden.levels:
            message = "nothing could be judged: every judgement has grade 0 or less; are its columns exchanged?"
        return INVALID, message, "unjudged-queries"
    if unjudged > 0:
        message = f"{unjudged} queries have no expectation at the level judged; they are left out of ranked means"
        return WARNING, message, "unjudged-queries"
    return OK, f"{judged} of {len(queries)} queries have expectations at level {level}", ""


def _failures(run: _Run) -> Finding:
    queries, failed = len(run.responses), sum(bool(response.error) for response in run.responses)
    if failed and run.info.status == "incomplete":
        return INVALID, f"{failed} of {queries} queries failed or were not sent; they score 0", "incomplete-run"
    if failed == queries:
        return INVALID, f"the system failed on all {queries} queries", "failed-queries"
    if failed:
        return WARNING, f"the system failed on {failed} of {queries} queries; they score 0", "failed-queries"
    return OK, f"none in {counted(queries, 'query', 'queries')}", ""


NOT_BY_CHANCE = 5  # empty lists; like the failures after which a run is stopped


def _results(run: _Run) -> Finding:
    """Check for empty lists. A list is not empty if there is an answer, such as a refusal."""
    answerable = run.answerable
    empty = sum(not response.hits and response.answer is None for response in answerable)
    if empty == len(answerable) >= NOT_BY_CHANCE:
        queries = counted(empty, "query", "queries")
        return INVALID, f"the system returned nothing for {queries}, which is every one with an answer", "empty-results"
    message = f"{empty} of {len(answerable)} lists are empty"
    return (WARNING, message, "empty-results") if empty * 2 > len(answerable) else (OK, message, "")


def _duplicates(run: _Run) -> Finding:
    lists = int((np.nan_to_num(run.judged.fact("duplicate_rate")) > 0).sum())
    if lists:
        return WARNING, f"{lists} result lists contain duplicates, which never count as relevant", "duplicates"
    return OK, "none", ""


# distinct results in so many lists: among those, a retriever that works at all finds something expected by chance
MANY_IDS, MANY_LISTS = 100, 10
_OPAQUE = ("doc", "chunk")  # levels of ids; the others are matched by names and paths


def _ids(run: _Run) -> Finding:
    """Check that returned ids are ids of the set: one in another spelling never matches, and scores 0."""
    level, hits = run.info.level, [hit for response in run.responses for hit in response.hits]
    returned = {name: name if level in _OPAQUE else hit.id for hit in hits for name in _names(hit, level)}
    items = [item for query in run.golden.queries for item in query.expected if item.level == level]
    expected = {name: item.name for item in items for name in _names(_as_hit(item), level)}
    if not returned or not expected:
        return OK, "nothing to compare", ""
    recognised = len(run.judged.main.hits) or len(expected.keys() & returned.keys())
    respelled = _respelled(
        expected.keys() - returned.keys(), (name for name in returned if name not in expected), level
    )
    pairs = [(expected[name], returned[other]) for name, other in respelled.items()]
    wanted, seen = pairs[0] if pairs else (next(iter(expected.values())), next(iter(returned.values())))
    example = f"expected like {_quoted(wanted)}, returned like {_quoted(seen)}"
    if recognised and not pairs:
        return OK, f"{len(run.judged.main.hits):,} of {len(hits):,} results are expected or judged ones", ""
    if recognised:
        spelling = f"{counted(len(pairs), 'expected id')} never matched, but returned in another spelling"
        return WARNING, f"{spelling}: {example}", "unknown-ids"
    lists, distinct = np.count_nonzero(run.judged.returned), len({hit.id for hit in hits})
    state = INVALID if pairs or (lists >= MANY_LISTS and distinct >= MANY_IDS) else WARNING
    return state, f"none of {len(hits):,} returned ids is known to the set; {example}", "unknown-ids"


def _names(hit: Hit, level: str) -> set[str]:
    """Return the names by which a result may be known to the set: coarser than a match, to be sure when none is."""
    if level == "symbol":
        return set(components(hit.symbol or hit.id)[-1:])
    if level in ("file", "span"):
        return {(hit.path or path_in(hit.id) or hit.document).replace("\\", "/").rpartition("/")[2]}
    return {hit.id} if level == "chunk" else {hit.id, hit.path or hit.id, hit.document}


def _as_hit(item: Expected) -> Hit:
    name = item.doc or item.name if item.level == "span" else item.name
    return Hit(name, path=name if item.level in ("file", "span") else "")


_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_SUFFIX = re.compile(r"\.[a-z]\w{0,4}$")


def _respelled(missed: Collection[str], unknown: Iterable[str], level: str) -> dict[str, str]:
    """Return the missed names that were returned in another spelling, with that.

    Ids may also differ by a suffix that one of the two lacks, or by folders before a bare id: `docs/184.txt` for `184`.
    """
    whole = {_form(name, level): name for name in missed}
    bare = {_SUFFIX.sub("", form): name for form, name in whole.items()} if level in _OPAQUE else {}
    pairs: dict[str, str] = {}
    for returned in unknown:
        form = _form(returned, level)
        stem = _SUFFIX.sub("", form) if level in _OPAQUE else form
        last = stem.rpartition("/")[2]
        name = whole.get(form) or bare.get(form) or whole.get(stem) or ("" if "." in last else whole.get(last))
        if name:
            pairs[name] = returned
    return pairs


def _form(name: str, level: str) -> str:
    """Return what spellings of one name share. Case and zeros distinguish files and symbols, but not ids."""
    form = unicodedata.normalize("NFC", name)
    return _ZEROS.sub("", form.casefold()) if level in _OPAQUE else form


def _quoted(name: str) -> str:
    """Quote an id, with escapes if it would look like another Unicode form of itself."""
    return f"`{name if unicodedata.is_normalized('NFC', name) else ascii(name)[1:-1]}`"


def _depth(run: _Run) -> Finding:
    """Check that the lists reach the deepest cut-off. Measures of more results than were requested are refused."""
    cut, lengths = deepest(run.measures), run.judged.returned
    longest = int(lengths.max(initial=0))
    if run.info.k <= longest < cut and np.count_nonzero(lengths == longest) * 2 > np.count_nonzero(lengths):
        message = (
            f"no list has more than {longest} results, so a cut-off of {cut} sees no more: does the system limit them?"
        )
        return WARNING, message, "shallow-results"
    return OK, f"{run.info.requested} results requested, up to {longest} returned; the deepest cut-off is {cut}", ""


_CONTRADICTED = 0.1  # share of the lists; a reranker leaves a few in another order than their scores


def _order(run: _Run) -> Finding:
    """Check that scores fall from rank to rank in most steps: the order of the results counts, not their scores."""
    compared = rising = 0
    for response in run.responses:
        scores = [hit.score for hit in response.hits if hit.score is not None]
        steps = [second - first for first, second in pairwise(scores) if second != first]
        compared += bool(steps)
        rising += sum(step > 0 for step in steps) * 2 > len(steps)
    if not rising or rising < compared * _CONTRADICTED:
        return (
            OK,
            f"scores fall with the rank in {compared - rising} of {compared} lists" if compared else "no scores",
            "",
        )
    message = (
        f"scores rise while ranks fall in {rising} of {compared} lists; results are judged in the order returned. "
        "If a higher score is better, return the best first (--ties trec sorts by score)"
    )
    return WARNING, message, "order-against-scores"


def _before(codes: frozenset[str], fine: str) -> Callable[[_Run], Finding]:
    """Return a check of the cautions from before the run, and of the set among the results."""

    def check(run: _Run) -> Finding:
        messages = [caution.message for caution in run.info.warnings if caution.code in codes]
        return (WARNING, "; ".join(messages), "") if messages else (OK, fine, "")

    return check


_LEAKS = frozenset({"golden-in-corpus", "golden-retrieved", "mined-history", "mined-state"})
_STALENESS = frozenset({"stale-index", "other-commit"})
_CHECKS: dict[str, Callable[[_Run], Finding]] = {
    "judgements": _judgements,
    "failures": _failures,
    "results": _results,
    "ids": _ids,
    "duplicates": _duplicates,
    "depth": _depth,
    "order": _order,
    "leaks": _before(_LEAKS, "none found"),
    "staleness": _before(_STALENESS, "none found"),
}
