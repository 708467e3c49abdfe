"""What a reviewer of a diff needs: the symbols it touches, who calls them, the tests that reach them, what usually changes with them
and was not changed, and the neighbourhood that a walk from them finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from assay.core.items import DATA_KINDS, EDGE_TYPES, SPACE_KINDS, Item, Outline, Spanned, item_id
from assay.core.packs import BODY, NAME, SIGNATURE, Ranked, Section
from assay.git.diff import ADDED, DELETED, MOVED, Change, Hunk
from assay.rank.engine import Engine
from assay.rank.impact import Affected, affected_tests, impact, items_in
from assay.rank.ranking import highest
from assay.store.history import History
from assay.store.index import Index
from assay.text.display import counted

TOUCHED, CALLERS, TESTS, MISSING, NEIGHBOURS = "touched", "callers", "tests", "missing", "neighbourhood"

# What showing an item of each section is worth beside the others: a reviewer reads the change first. A judgement, not measured.
_WORTH = {TOUCHED: 1.0, CALLERS: 0.5, TESTS: 0.3, MISSING: 0.6, NEIGHBOURS: 0.2}
_TEST_WORTH = 0.5  # of other code's: a test explains, the code decides
_DATA_WORTH = 0.5  # of a field or variable beside a function or type
# How many are named in 8,000 tokens: more would leave no room for lines.
_MOST = {TOUCHED: 120, CALLERS: 40, TESTS: 20, MISSING: 10, NEIGHBOURS: 20}
_LEAST_TOGETHER = 3  # commits in which two files changed: fewer may be chance
_USUALLY = 0.4  # share of a file's changes in which the other changed too
_DELETED_NAMED = 5  # symbols of a deleted file that are named
_PLACES_NAMED = 4  # ranges of changed lines that are named
_NAMED = 0.5  # confidence that a name means what had it before
_WITHIN = 3  # steps within which a test counts as reaching a change: in six, half of a large suite does

_INVERSE = {row.name: row.reverse for row in EDGE_TYPES.values()} | {
    row.reverse: row.name for row in EDGE_TYPES.values()
}


class Gone(Spanned, Protocol):
    """A definition of the old text that the new one does not have."""

    @property
    def symbol(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Diff:
    """The files that changed, and how the index stands to them."""

    changes: Sequence[Change]
    gone: Mapping[str, Sequence[Gone]] = field(default_factory=dict)  # by path
    before: frozenset[str] = frozenset()  # files that the index still has as they were before the diff
    unsure: frozenset[str] = frozenset()  # files that the index has neither as they were nor as they are


class Review(NamedTuple):
    """Items by section, in the order of the sections."""

    ranked: list[Ranked]
    sections: tuple[Section, ...]


def for_review(engine: Engine, diff: Diff, scale: float = 1.0) -> Review:
    """Everything about a diff by section, `scale` times as much as fits the usual budget."""
    index = engine.index
    most = {name: max(1, int(number * scale)) for name, number in _MOST.items()}
    changes = sorted(diff.changes, key=lambda one: (one.path not in index.files, one.path))  # code first
    touched = [one for change in changes for one in _touched(index, change, diff)]
    symbols = [one.item for one in touched if one.item.number and one.item.symbol]
    known = {one.item.number for one in touched}
    left = [one for one in _left_behind(index, diff.gone) if one.item.number not in known]
    known |= {one.item.number for one in left}
    calling = [one for one in impact(index, symbols, depth=1) if one.item.number not in known]
    reaching = [one for one in affected_tests(index, symbols, _WITHIN) if one.item.number not in known]
    callers = [one for one in left + calling if not one.item.test]
    tests = [one for one in left if one.item.test] + reaching
    known |= {one.item.number for one in callers + tests}
    deleted = {one.item.id for one in touched if one.why.startswith(DELETED)} | {one.through for one in left}
    missing = list(_missing(index, diff.changes))
    near = list(islice(_neighbours(engine, symbols, known), most[NEIGHBOURS]))
    parts = {
        TOUCHED: _worthiest(touched, most[TOUCHED]),
        CALLERS: [_affected(one, CALLERS, deleted) for one in callers[: most[CALLERS]]],
        TESTS: [_affected(one, TESTS, deleted) for one in tests[: most[TESTS]]],
        MISSING: missing[: most[MISSING]],
        NEIGHBOURS: near,
    }
    files = len({change.path for change in diff.changes})
    sections = (
        Section(TOUCHED, "Touched", f"{_said(touched, most[TOUCHED], 'nothing')} in {counted(files, 'file')}"),
        _section(CALLERS, "Callers", callers, most, "nothing outside the diff calls what it touches"),
        _section(TESTS, "Tests that reach it", tests, most, f"no other test reaches it in {_WITHIN} steps"),
        _section(MISSING, "Usually changed together, missing here", missing, most, "nothing"),
        _section(NEIGHBOURS, "Neighbourhood", near, most, "nothing more"),
    )
    return Review([one for section in sections for one in parts[section.name]], sections)


def _section(name: str, title: str, found: Sequence[object], most: Mapping[str, int], none: str) -> Section:
    return Section(name, title, _said(found, most[name], none), not found)


def _worthiest(ranked: Sequence[Ranked], most: int) -> list[Ranked]:
    """Those of most worth, in the order they had."""
    places = sorted(range(len(ranked)), key=lambda place: -ranked[place].score)[:most]
    return [ranked[place] for place in sorted(places)]


def _said(found: Sequence[object], most: int, none: str) -> str:
    shown = min(len(found), most)
    return none if not found else f"{shown} of {len(found)}" if shown < len(found) else str(shown)


# what the diff touches


def _touched(index: Index, change: Change, diff: Diff) -> Iterator[Ranked]:
    """The innermost symbols around changed lines, the file where they are outside of any, and what was deleted."""
    items = items_in(index, change.path) or [_moved(item, change.path) for item in items_in(index, change.before)]
    gone = diff.gone.get(change.path, ())
    if change.status == DELETED:
        symbols = [item for item in items if item.kind not in SPACE_KINDS]
        names = ", ".join(one.symbol for one in gone[:_DELETED_NAMED]) + (" …" if len(gone) > _DELETED_NAMED else "")
        yield _name_only(_file(change.path, items), f"deleted, with {names}" if names and not symbols else "deleted")
        yield from (_name_only(item, "deleted with its file") for item in symbols)
        return
    if not items:
        yield _name_only(_file(change.path, items), f"{_status(change)}; no symbols in the index")
        return
    places = _places(items, change, diff)
    file = _file(change.path, items)
    if file.number in places or not (places or gone):
        lines = _lines(places.get(file.number, []), change, diff)
        yield _name_only(file, f"{_status(change)}{lines}" + (", outside its symbols" if lines else ""))
    lost = {one.symbol: one for one in gone}
    for item in sorted(items, key=lambda one: (one.start, -one.end)):
        if item.symbol in lost:
            yield _name_only(item, "deleted")
        elif item.symbol and item.number in places:
            yield _changed(item, f"{_status(change)}{_lines(places[item.number], change, diff)}")
    known = {item.symbol for item in items}
    yield from (_name_only(_deleted(change.path, one), "deleted") for one in gone if one.symbol not in known)


def _places(items: Sequence[Item], change: Change, diff: Diff) -> dict[int, list[tuple[int, int]]]:
    """The changed ranges of lines by the number of the item they are in; those of the version that the index has."""
    outline = Outline(items)
    file = _file(change.path, items).number
    if change.status == ADDED:
        return {item.number: [] for item in items if item.symbol} or {file: []}
    out: dict[int, list[tuple[int, int]]] = {}
    for hunk in change.hunks:
        if not hunk.added and _explained(hunk, diff.gone.get(change.path, ())):
            continue
        for place in hunk.places() if change.path in diff.before else hunk.new_places():
            inside = outline.touched([place])
            out.setdefault(inside[0].number if inside else file, []).append(place)
    return out


def _explained(hunk: Hunk, gone: Sequence[Gone]) -> bool:
    """Whether all that a hunk removed is definitions that are named as deleted: what is around them did not change."""
    return all(any(one.start <= line <= one.end for one in gone) for line, _ in hunk.places())


def _status(change: Change) -> str:
    return {ADDED: "new", MOVED: f"moved from {change.before}"}.get(change.status, change.status)


def _lines(places: Sequence[tuple[int, int]], change: Change, diff: Diff) -> str:
    """` at 3-7, 12`; nothing where the lines of the index are not those of the file."""
    if not places or change.path in diff.before | diff.unsure:
        return ""
    ranges: list[list[int]] = []
    for first, last in places:
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1][1] = max(last, ranges[-1][1])
        else:
            ranges.append([first, last])
    told = [f"{first}-{last}" if first < last else str(first) for first, last in ranges[:_PLACES_NAMED]]
    return f" at {', '.join(told)}" + (" …" if len(ranges) > _PLACES_NAMED else "")


def _changed(item: Item, why: str, most: str = BODY) -> Ranked:
    weight = (_TEST_WORTH if item.test else 1.0) * (_DATA_WORTH if item.kind in DATA_KINDS else 1.0)
    return Ranked(item, _WORTH[TOUCHED] * weight, 1.0, why, TOUCHED, most)


def _name_only(item: Item, why: str) -> Ranked:
    return _changed(item, why, NAME)


def _file(path: str, items: Iterable[Item]) -> Item:
    """The file's own item; one made up for a file that the index does not have."""
    own = (item for item in items if not item.symbol)
    return next(own, Item(0, path, "file", path.rpartition("/")[2], "", path, 1, 1, "", "", False))


def _moved(item: Item, path: str) -> Item:
    """An item that the index still has where its file was, at the place where it is now."""
    return replace(item, id=path + item.id.removeprefix(item.path), path=path)


def _deleted(path: str, gone: Gone) -> Item:
    return Item(
        0, item_id(path, gone.symbol), gone.kind, gone.name, gone.symbol, path, gone.start, gone.start, "", "", False
    )


# what stands around it


def _affected(one: Affected, section: str, deleted: set[str]) -> Ranked:
    through = one.through.rpartition("::")[2] + (", which is deleted" if one.through in deleted else "")
    why = f"{one.edge.replace('_', ' ')} {through}" if one.depth == 1 else f"{one.depth} steps, through {through}"
    most = BODY if one.depth == 1 and one.item.symbol else NAME  # what is far, or a whole file, is to be opened instead
    return Ranked(one.item, _WORTH[section] * one.confidence, 1.0, why, section, most)


def _left_behind(index: Index, gone: Mapping[str, Sequence[Gone]]) -> list[Affected]:
    """Who still names a deleted definition that the index has forgotten; only where nothing else has that name."""
    ids = {one.name: item_id(path, one.symbol) for path, lost in gone.items() for one in lost}
    out: dict[int, Affected] = {}
    for name, through in sorted(ids.items()):
        if not index.items("s.name = ?", (name,)):
            for item in index.items("instr(' ' || t.identifiers || ' ', ?)", (f" {name} ",)):
                out.setdefault(item.number, Affected(item, 1, _NAMED, "names", through, item.start))
    return list(out.values())


def _missing(index: Index, changes: Sequence[Change]) -> Iterator[Ranked]:
    """The files that changed in most commits that touched a file of the diff, and are not in it; surest first."""
    history, paths = History.open(index), {file.number: path for path, file in index.files.items()}
    here = {change.path for change in changes} | {change.before for change in changes}
    best: dict[int, tuple[float, int, str]] = {}
    for path in sorted(here & index.files.keys()):
        commits = history.changes(index.files[path].number)
        together: dict[int, int] = {}
        for commit in commits:
            for other in history.touched(commit).tolist():
                together[other] = together.get(other, 0) + 1
        for other, times in together.items():
            if paths[other] not in here and times >= _LEAST_TOGETHER and times / len(commits) >= _USUALLY:
                why = f"changed in {times} of {len(commits)} commits with {path}"
                best[other] = max(best.get(other, (0.0, 0, "")), (times / len(commits), times, why))
    for other, (share, _, why) in sorted(best.items(), key=lambda pair: (-pair[1][0], -pair[1][1], paths[pair[0]])):
        file = _file(paths[other], items_in(index, paths[other]))
        yield Ranked(file, _WORTH[MISSING] * share, 1.0, why, MISSING, NAME)


def _neighbours(engine: Engine, symbols: Sequence[Item], known: set[int]) -> Iterator[Ranked]:
    """Where a walk from the touched symbols ends up, beyond what is named already."""
    index, graph = engine.index, engine.graph
    seeds = np.zeros(graph.size)
    seeds[[item.number for item in symbols]] = 1.0
    found = graph.walk(seeds, engine.profile.restart, engine.profile.steps)
    most = 0.0
    for number in highest(found, graph.size).tolist():
        if number in known or not (item := index.item(number)).symbol:
            continue
        most = most or float(found[number])
        start, edge, _ = next(iter(graph.brought(found, number)), (0, "", 0.0))
        origin = index.item(start) if start else None
        why = f"{_INVERSE[edge].replace('_', ' ')} {origin.symbol or origin.path}" if origin else ""
        share = float(found[number]) / most
        weight = _TEST_WORTH if item.test else 1.0
        yield Ranked(item, _WORTH[NEIGHBOURS] * share * weight, share, why, NEIGHBOURS, SIGNATURE)
