"""Places: items at the paths and stack frames of a task.

Direct hits are the items that the task points at: by path, stack frame, rare name or project class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from assay.rank.pieces import Piece
from assay.rank.signals import classes
from assay.rank.signals.fusion import Channel, K
from assay.rank.signals.names import NameHit
from assay.rank.signals.signal import Signal, Stage
from assay.store.index import Index

if TYPE_CHECKING:
    from assay.rank.arrays import Floats
    from assay.rank.context import QueryContext
    from assay.rank.ranking import Ranking


_INNERMOST_AT_LINE = "ordinal >= 0 AND start <= ? AND end >= ? ORDER BY end - start, ordinal"
_NEAREST_NAMED = "ordinal >= 0 AND name = ? ORDER BY abs(start - ?), ordinal"
_FILE_ITEM = "ordinal = -1"


def places(index: Index, pieces: Iterable[Piece]) -> list[NameHit]:
    """Return the item at each path or frame: the frame's function, the innermost symbol at the line, else the file."""
    hits: dict[int, NameHit] = {}
    paths = list(index.files)
    for piece in pieces:
        for path in files_of(piece.path, paths):
            number = _item_at(index, index.files[path].number, piece)
            if number is not None:
                hits.setdefault(number, NameHit(number, "place", piece.text))
    return list(hits.values())


def files_of(path: str, paths: Sequence[str]) -> list[str]:
    """Return the indexed files with the longest common path suffix; the path may start above or below the root."""
    parts = [segment for segment in path.split("/") if segment not in ("", ".", "..")]
    if not parts:
        return []
    suffixes = [(_common_suffix(file.split("/"), parts), file) for file in paths if file.endswith(parts[-1])]
    best = max((count for count, _ in suffixes), default=0)
    matches = [file for count, file in suffixes if count == best > 0]
    # only the file name matches: accepted if the path has no more or the match is unique
    return matches if best > 1 or best == len(parts) or len(matches) == 1 else []


def _common_suffix(file: Sequence[str], parts: Sequence[str]) -> int:
    pairs = zip(reversed(file), reversed(parts), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _item_at(index: Index, file: int, piece: Piece) -> int | None:
    name = piece.function.replace("::", ".").replace("#", ".").rpartition(".")[2]
    # a frame's function is more certain than its line, which may be of another version
    queries: list[tuple[str, tuple[object, ...]]] = [(_FILE_ITEM, ())]
    if piece.line:
        queries.insert(0, (_INNERMOST_AT_LINE, (piece.line, piece.line)))
    if name:
        queries.insert(0, (_NEAREST_NAMED, (name, piece.line)))
    for where, parameters in queries:
        number = index.first_in(file, where, parameters)
        if number is not None:
            return number
    return None


def places_of(query: QueryContext) -> list[int]:
    """Return the items at the file locations the task names."""
    pieces = query.task.keywords.pieces
    return query.cached("places", lambda: [hit.number for hit in places(query.index, pieces)])


def _in_named_file(query: QueryContext) -> Floats:
    """Return 1 for items of the files the task names, else 0."""
    return query.items.by_file({int(query.items.files[number]): 1.0 for number in places_of(query)})


PLACE = Signal(
    "place",
    Stage.FACTOR,
    "pointed at",
    "the task names its file",
    weights={"place": ()},
    generate=_in_named_file,
    is_feature=True,
)


# Direct hits

_FIRST = 2.0  # boost of what the project itself names for a concept: before everything else
_MAX_BEARERS = 5  # a name with more bearers points at none of them


def _direct_hits(query: QueryContext) -> list[int]:
    return [*places_of(query), *_named(query)]


def project_hits(query: QueryContext) -> list[classes.EquivalenceHit]:
    """Return the targets of the project's own classes that surely match."""
    resources = query.resources
    matched = classes.matches(query.task.task, resources.classes, resources.languages) if resources.classes else []
    sure = [match for match in matched if match.is_sure]
    return classes.resolve(resources.names, sure, len(sure) * _MAX_BEARERS)


def _project_targets(query: QueryContext) -> list[int]:
    return query.cached("project targets", lambda: [hit.number for hit in project_hits(query)])


def _named(query: QueryContext) -> list[int]:
    """Return items the task calls by a rare name, after the targets of surely matching project classes.

    Test code counts where no product code has the name, or the task is about tests.
    """
    resources = query.resources
    numbers = [*_project_targets(query)]
    for name in query.task.keywords.literal:
        bearers = [*islice(resources.names.exact(name), _MAX_BEARERS + 1)]  # product code first
        product = [row for row in bearers if query.task.about_tests or not row.test]
        numbers += [row.number for row in product or bearers] if len(product or bearers) <= _MAX_BEARERS else []
    return list(dict.fromkeys(numbers))


def _shares(query: QueryContext) -> dict[int, float]:
    """Return the share of the gain of each direct hit, falling with rank; test code that is only named is lowered."""
    full = {*places_of(query)}
    return {
        number: K / (K + rank) * (1.0 if number in full or query.task.about_tests else query.items.tests[number])
        for rank, number in enumerate(query.evidence(CANDIDATES))
    }


def _channel(query: QueryContext, ranking: Ranking) -> dict[str, Channel]:
    return {CANDIDATES.name: Channel(0.0, query.evidence(CANDIDATES))}  # not fused: their gain is an addition


def _gain(query: QueryContext, ranking: Ranking) -> Floats | None:
    """Return a share of the best score, falling with rank; no hit needs a matching term."""
    hits = query.evidence(CANDIDATES)
    if not hits:
        return None
    gain = query.profile.direct_hits * (float(ranking.direct.max()) or 1.0)
    return query.items.by_symbol({number: gain * share for number, share in _shares(query).items()})


def _boost(query: QueryContext, ranking: Ranking) -> Floats | None:
    """Return the boosts of items the task points at; targets of the project's own classes come first.

    Without a ranker the others have gained before: their gain is part of the score that it replaces.
    """
    first, profile = _project_targets(query), query.profile
    boosts: dict[int, float] = {}
    if profile.ranker:
        boosts |= {number: profile.direct_hits * share for number, share in _shares(query).items()}
    boosts |= {number: _FIRST * K / (K + rank) for rank, number in enumerate(first)}
    return query.items.by_symbol(boosts) if boosts else None


CANDIDATES = Signal(
    "direct_hits",
    Stage.CHANNEL,
    "pointed at",
    "named by the task",
    weights={"direct_hits": ()},
    generate=_direct_hits,
    score=_channel,
    is_feature=True,
)
DIRECT_HITS = Signal(
    "direct_hits",
    Stage.ADDITION,
    "pointed at",
    "the task points at it (path, frame or rare name)",
    weights={"direct_hits": ()},
    score=_gain,
)
POINTED_AT = Signal(
    "pointed_at",
    Stage.BOOST,
    "pointed at",
    "the task points at it (path, frame, rare name or class of the project)",
    weights={"direct_hits": ()},
    score=_boost,
)
