"""Review context of a diff: touched symbols, callers, tests that reach them, missing co-changes, neighbourhood."""

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
from assay.rank.impact import Affected, affected_tests, impact
from assay.rank.neighbourhood import deployments
from assay.store.index import Index
from assay.store.links.stated import DEPLOYMENT, TEAM
from assay.store.links.traces import observations
from assay.text.display import counted

TOUCHED, CALLERS, TESTS, MISSING, NEIGHBOURS = "touched", "callers", "tests", "missing", "neighbourhood"
OWNERS, DEPLOYMENTS = "owners", "deployments"  # sections of names only; left out where there are none

_TEST_VALUE = 0.5  # relative to other code: a test explains, the code decides
_DATA_VALUE = 0.5  # of a field or variable relative to a function or type
_MIN_COCHANGES = 3  # commits in which two files changed together: fewer may be chance
_MIN_COCHANGE_SHARE = 0.4  # share of a file's commits that changed the other file too
_LISTED_DELETIONS = 5  # symbols of a deleted file that are listed
_LISTED_RANGES = 4  # changed line ranges that are listed
_NAME_CONFIDENCE = 0.5  # confidence that a name still refers to its deleted definition
_LISTED_NAMES = 6  # owners or deployments that are listed
_DEPLOYMENT_DEPTH = 5  # depth within which an entry point counts as reaching a change, as that of `assay impact`
_TEST_DEPTH = 3  # depth within which a test counts as reaching a change: at six, half of a large suite does


class _SectionRow(NamedTuple):
    """A section: its title, the text if it is empty, the relative value of its items and their maximum number."""

    title: str
    empty: str
    value: float  # a reviewer reads the change first: a judgement, not measured
    limit: int  # in 8,000 tokens: more would leave no room for source lines


_SECTIONS = {
    TOUCHED: _SectionRow("Touched", "nothing", 1.0, 120),
    CALLERS: _SectionRow("Callers", "nothing outside the diff calls what it touches", 0.5, 40),
    TESTS: _SectionRow("Tests that reach it", f"no other test reaches it in {_TEST_DEPTH} steps", 0.3, 20),
    MISSING: _SectionRow("Usually changed together, missing here", "nothing", 0.6, 10),
    NEIGHBOURS: _SectionRow("Neighbourhood", "nothing more", 0.2, 20),
}

_INVERSE = {row.name: row.reverse for row in EDGE_TYPES.values()} | {
    row.reverse: row.name for row in EDGE_TYPES.values()
}


class Gone(Spanned, Protocol):
    """A definition of the old version that the new one does not have."""

    @property
    def symbol(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Diff:
    """The changed files, and which version of each the index holds."""

    changes: Sequence[Change]
    gone: Mapping[str, Sequence[Gone]] = field(default_factory=dict)  # by path
    before: frozenset[str] = frozenset()  # files that the index holds in their version before the diff
    unsure: frozenset[str] = frozenset()  # files that the index holds in neither version


class Review(NamedTuple):
    """Items in section order, with the sections."""

    ranked: list[Ranked]
    sections: tuple[Section, ...]


def for_review(engine: Engine, diff: Diff, scale: float = 1.0) -> Review:
    """Collect the review context of a diff; `scale` multiplies the items per section."""
    index = engine.index
    limits = {name: max(1, int(row.limit * scale)) for name, row in _SECTIONS.items()}
    changes = sorted(diff.changes, key=lambda change: (change.path not in index.files, change.path))  # code first
    touched = [ranked for change in changes for ranked in _touched(index, change, diff)]
    symbols = [entry.item for entry in touched if entry.item.number and entry.item.symbol]
    callers, tests = _dependents(index, diff, touched, symbols)
    listed = {entry.item.number for entry in (*touched, *callers, *tests)}
    found = {
        TOUCHED: touched,
        CALLERS: callers,
        TESTS: tests,
        MISSING: list(_missing_cochanges(index, diff.changes)),
        NEIGHBOURS: list(islice(_neighbours(engine, symbols, listed), limits[NEIGHBOURS])),
    }
    shown = {name: entries[: limits[name]] for name, entries in found.items()}
    shown[TOUCHED] = _most_valuable(touched, limits[TOUCHED])
    files = len({change.path for change in diff.changes})
    in_files = {TOUCHED: f" in {counted(files, 'file')}"}
    sections = tuple(
        Section(
            name,
            row.title,
            _count_of(found[name], limits[name], row.empty) + in_files.get(name, ""),
            empty=name != TOUCHED and not found[name],
        )
        for name, row in _SECTIONS.items()
    )
    return Review(
        [entry for entries in shown.values() for entry in entries], sections + _surroundings(index, diff, symbols)
    )


def _surroundings(index: Index, diff: Diff, symbols: list[Item]) -> tuple[Section, ...]:
    """Return the owners of the changed files and the deployments that run changed code, each in one line."""
    owners: dict[str, int] = {}
    for change in diff.changes:
        for link in index.links.about(change.path, ("owned_by",)):
            owners[link.target.removeprefix(TEAM)] = owners.get(link.target.removeprefix(TEAM), 0) + 1
    by_count = sorted(owners, key=lambda owner: (-owners[owner], owner))
    owned = [f"{owner} ({counted(owners[owner], 'file')})" for owner in by_count]
    deployed: list[str] = []
    if any(link.type == "deployed_by" for link in index.links.all):  # otherwise the walk is for nothing
        reached = [*symbols, *(entry.item for entry in impact(index, symbols, depth=_DEPLOYMENT_DEPTH))]
        deployed = [link.target.removeprefix(DEPLOYMENT) for link in deployments(index, reached)]
    rows = ((OWNERS, "Owners", owned), (DEPLOYMENTS, "Deployed by", list(dict.fromkeys(deployed))))
    return tuple(Section(name, title, _listed(names), empty=True) for name, title, names in rows if names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
    return ", ".join(names[:_LISTED_NAMES]) + more


def _dependents(
    index: Index, diff: Diff, touched: Sequence[Ranked], symbols: list[Item]
) -> tuple[list[Ranked], list[Ranked]]:
    """Return the callers and the tests outside the diff: those that name a deleted definition, then the others."""
    listed = {entry.item.number for entry in touched}
    dangling = [entry for entry in _dangling_references(index, diff.gone) if entry.item.number not in listed]
    listed |= {entry.item.number for entry in dangling}
    callers = [entry for entry in _callers(index, symbols) if entry.item.number not in listed]
    tests = [entry for entry in affected_tests(index, symbols, _TEST_DEPTH) if entry.item.number not in listed]
    deleted = {entry.item.id for entry in touched if entry.why.startswith(DELETED)}
    deleted |= {entry.through for entry in dangling}
    return (
        [_ranked_caller(entry, CALLERS, deleted) for entry in dangling + callers if not entry.item.test],
        [
            _ranked_caller(entry, TESTS, deleted)
            for entry in [*(entry for entry in dangling if entry.item.test), *tests]
        ],
    )


def _most_valuable(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """Return the `limit` items of highest score, in their original order."""
    best = sorted(range(len(ranked)), key=lambda position: -ranked[position].score)[:limit]
    return [ranked[position] for position in sorted(best)]


def _count_of(entries: Sequence[object], limit: int, empty_text: str) -> str:
    shown = min(len(entries), limit)
    return empty_text if not entries else f"{shown} of {len(entries)}" if shown < len(entries) else str(shown)


# Touched symbols


def _touched(index: Index, change: Change, diff: Diff) -> Iterator[Ranked]:
    """Yield the innermost symbols around changed lines, the file for lines outside any, and deletions."""
    items = index.in_file(change.path) or [_moved_item(item, change.path) for item in index.in_file(change.before)]
    gone = diff.gone.get(change.path, ())
    if change.status == DELETED:
        yield from _deleted_file(change, items, gone)
    elif not items:
        yield _name_only(_file_item(change.path, items), f"{_status(change)}; no symbols in the index")
    else:
        yield from _changed_file(change, items, gone, diff)


def _deleted_file(change: Change, items: Sequence[Item], gone: Sequence[Gone]) -> Iterator[Ranked]:
    """Yield a deleted file and its symbols; where the index has none, the file names the first of them."""
    symbols = [item for item in items if item.kind not in SPACE_KINDS]
    more = " …" if len(gone) > _LISTED_DELETIONS else ""
    names = ", ".join(definition.symbol for definition in gone[:_LISTED_DELETIONS]) + more
    yield _name_only(_file_item(change.path, items), f"deleted, with {names}" if names and not symbols else "deleted")
    yield from (_name_only(item, "deleted with its file") for item in symbols)


def _changed_file(change: Change, items: Sequence[Item], gone: Sequence[Gone], diff: Diff) -> Iterator[Ranked]:
    """Yield the touched symbols of a file in line order, after the file itself if lines outside them changed."""
    ranges = _changed_ranges(items, change, diff)
    file = _file_item(change.path, items)
    if file.number in ranges or not (ranges or gone):
        lines = _lines(ranges.get(file.number, []), change, diff)
        yield _name_only(file, f"{_status(change)}{lines}" + (", outside its symbols" if lines else ""))
    deleted = {definition.symbol for definition in gone}
    for item in sorted(items, key=lambda item: (item.start, -item.end)):
        if item.symbol in deleted:
            yield _name_only(item, "deleted")
        elif item.symbol and item.number in ranges:
            yield _touched_item(item, f"{_status(change)}{_lines(ranges[item.number], change, diff)}")
    indexed = {item.symbol for item in items}
    missing = (definition for definition in gone if definition.symbol not in indexed)
    yield from (_name_only(_deleted_item(change.path, definition), "deleted") for definition in missing)


def _changed_ranges(items: Sequence[Item], change: Change, diff: Diff) -> dict[int, list[tuple[int, int]]]:
    """Return the changed line ranges by item number, in the version that the index holds."""
    outline = Outline(items)
    file = _file_item(change.path, items).number
    if change.status == ADDED:
        return {item.number: [] for item in items if item.symbol} or {file: []}
    ranges: dict[int, list[tuple[int, int]]] = {}
    for hunk in change.hunks:
        if not hunk.added and _only_deletions(hunk, diff.gone.get(change.path, ())):
            continue
        for lines in hunk.places() if change.path in diff.before else hunk.new_places():
            inside = outline.touched([lines])
            ranges.setdefault(inside[0].number if inside else file, []).append(lines)
    return ranges


def _only_deletions(hunk: Hunk, gone: Sequence[Gone]) -> bool:
    """Return whether a hunk removes only definitions listed as deleted: the code around them did not change."""
    return all(any(definition.start <= line <= definition.end for definition in gone) for line, _ in hunk.places())


def _status(change: Change) -> str:
    return {ADDED: "new", MOVED: f"moved from {change.before}"}.get(change.status, change.status)


def _lines(changed: Sequence[tuple[int, int]], change: Change, diff: Diff) -> str:
    """Render line ranges as ` at 3-7, 12`; empty where the index has other line numbers than the file."""
    if not changed or change.path in diff.before | diff.unsure:
        return ""
    ranges: list[list[int]] = []
    for first, last in changed:
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1][1] = max(last, ranges[-1][1])
        else:
            ranges.append([first, last])
    listed = [f"{first}-{last}" if first < last else str(first) for first, last in ranges[:_LISTED_RANGES]]
    return f" at {', '.join(listed)}" + (" …" if len(ranges) > _LISTED_RANGES else "")


def _touched_item(item: Item, why: str, most: str = BODY) -> Ranked:
    weight = (_TEST_VALUE if item.test else 1.0) * (_DATA_VALUE if item.kind in DATA_KINDS else 1.0)
    return Ranked(item, _SECTIONS[TOUCHED].value * weight, 1.0, why, TOUCHED, most)


def _name_only(item: Item, why: str) -> Ranked:
    return _touched_item(item, why, NAME)


def _file_item(path: str, items: Iterable[Item]) -> Item:
    """Return the file's own item, or a placeholder for a file that is not indexed."""
    own = (item for item in items if not item.symbol)
    return next(own, Item(0, path, "file", path.rpartition("/")[2], "", path, 1, 1, "", "", False))


def _moved_item(item: Item, path: str) -> Item:
    """Return an item indexed under the old path, relocated to the new one."""
    return replace(item, id=path + item.id.removeprefix(item.path), path=path)


def _deleted_item(path: str, gone: Gone) -> Item:
    return Item(
        0, item_id(path, gone.symbol), gone.kind, gone.name, gone.symbol, path, gone.start, gone.start, "", "", False
    )


# Context of the change


def _ranked_caller(affected: Affected, section: str, deleted: set[str]) -> Ranked:
    through = affected.through.rpartition("::")[2] + (", which is deleted" if affected.through in deleted else "")
    why = (
        f"{affected.edge.replace('_', ' ')} {through}"
        if affected.depth == 1
        else f"{affected.depth} steps, through {through}"
    )
    why += f" ({affected.detail})" if affected.detail else ""
    # distant items and whole files are named only
    most = BODY if affected.depth == 1 and affected.item.symbol else NAME
    return Ranked(affected.item, _SECTIONS[section].value * affected.confidence, 1.0, why, section, most)


def _callers(index: Index, symbols: list[Item]) -> list[Affected]:
    """Return the callers of symbols, with those that traces have seen calling them before they changed."""
    callers = {(entry.item.id, entry.through): entry for entry in impact(index, symbols, depth=1)}
    ids = {item.id for item in symbols}
    for link in observations(index).earlier:
        if link.target in ids and (item := index.by_id(link.source)):
            detail = f"{link.detail}, before this change"
            observed = Affected(item, 1, link.confidence, link.type, link.target, link.line, detail)
            entry = callers.get((item.id, link.target))
            callers[item.id, link.target] = replace(entry, detail=entry.detail or detail) if entry else observed
    return list(callers.values())


def _dangling_references(index: Index, gone: Mapping[str, Sequence[Gone]]) -> list[Affected]:
    """Return items that still name a deleted definition, if no other symbol has that name."""
    ids = {
        definition.name: item_id(path, definition.symbol)
        for path, definitions in gone.items()
        for definition in definitions
    }
    referrers: dict[int, Affected] = {}
    for name, through in sorted(ids.items()):
        if not index.items("s.name = ?", (name,)):
            for item in index.items("instr(' ' || t.identifiers || ' ', ?)", (f" {name} ",)):
                referrers.setdefault(item.number, Affected(item, 1, _NAME_CONFIDENCE, "names", through, item.start))
    return list(referrers.values())


def _missing_cochanges(index: Index, changes: Sequence[Change]) -> Iterator[Ranked]:
    """Yield files that usually change with a file of the diff and are not in it, surest first."""
    history, paths = index.history, {file.number: path for path, file in index.files.items()}
    in_diff = {change.path for change in changes} | {change.before for change in changes}
    best: dict[int, tuple[float, int, str]] = {}
    for path in sorted(in_diff & index.files.keys()):
        commits = history.changes(index.files[path].number)
        cochanges: dict[int, int] = {}
        for commit in commits:
            for other in history.touched(commit).tolist():
                cochanges[other] = cochanges.get(other, 0) + 1
        for other, count in cochanges.items():
            if paths[other] not in in_diff and count >= _MIN_COCHANGES and count / len(commits) >= _MIN_COCHANGE_SHARE:
                why = f"changed in {count} of {len(commits)} commits with {path}"
                best[other] = max(best.get(other, (0.0, 0, "")), (count / len(commits), count, why))
    for other, (share, _, why) in sorted(best.items(), key=lambda pair: (-pair[1][0], -pair[1][1], paths[pair[0]])):
        file = _file_item(paths[other], index.in_file(paths[other]))
        yield Ranked(file, _SECTIONS[MISSING].value * share, 1.0, why, MISSING, NAME)


def _neighbours(engine: Engine, symbols: Sequence[Item], listed: set[int]) -> Iterator[Ranked]:
    """Yield the items a graph walk from the touched symbols reaches, without those already listed."""
    index, graph = engine.index, engine.graph
    seeds = np.zeros(graph.size)
    seeds[[item.number for item in symbols]] = 1.0
    mass = graph.walk(seeds, engine.profile.restart, engine.profile.steps)
    largest = 0.0
    for number in engine.resources.items.highest(mass, graph.size).tolist():
        if number in listed or not (item := index.item(number)).symbol:
            continue
        largest = largest or float(mass[number])
        start, edge, _ = next(iter(graph.incoming_flow(mass, number)), (0, "", 0.0))
        origin = index.item(start) if start else None
        why = f"{_INVERSE[edge].replace('_', ' ')} {origin.symbol or origin.path}" if origin else ""
        share = float(mass[number]) / largest
        weight = _TEST_VALUE if item.test else 1.0
        yield Ranked(item, _SECTIONS[NEIGHBOURS].value * share * weight, share, why, NEIGHBOURS, SIGNATURE)
