"""From the paths and stack frames of a task to the items at those places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from assay.retrieve.names_channel import NameHit
from assay.retrieve.pieces import Piece
from assay.store.index import Index

_AT_LINE = "ordinal >= 0 AND start <= ? AND end >= ? ORDER BY end - start, number"
_NAMED = "ordinal >= 0 AND name = ? ORDER BY abs(start - ?), number"
_FILE = "ordinal = -1"


def places(index: Index, pieces: Iterable[Piece]) -> list[NameHit]:
    """The item at each path or frame: the innermost symbol at its line, the function a frame names, else the file itself."""
    hits: dict[int, NameHit] = {}
    known = list(index.files)
    for piece in pieces:
        for path in files_of(piece.path, known):
            number = _item_at(index, index.files[path].number, piece)
            if number is not None:
                hits.setdefault(number, NameHit(number, "place", piece.text))
    return list(hits.values())


def files_of(path: str, known: Sequence[str]) -> list[str]:
    """The files a path means, which may start above the root or below it: those that agree with it from the end, the longest agreement."""
    wanted = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not wanted:
        return []
    agreeing = [(_agreement(file.split("/"), wanted), file) for file in known if file.endswith(wanted[-1])]
    best = max((count for count, _ in agreeing), default=0)
    found = [file for count, file in agreeing if count == best > 0]
    # only a name in common: believed if it is all that was said or all there is
    return found if best > 1 or best == len(wanted) or len(found) == 1 else []


def _agreement(file: Sequence[str], wanted: Sequence[str]) -> int:
    pairs = zip(reversed(file), reversed(wanted), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _item_at(index: Index, file: int, piece: Piece) -> int | None:
    name = piece.function.replace("::", ".").replace("#", ".").rpartition(".")[2]
    # a frame's function is more certain than its line, which may be of another version
    questions: list[tuple[str, tuple[object, ...]]] = [(_FILE, ())]
    if piece.line:
        questions.insert(0, (_AT_LINE, (piece.line, piece.line)))
    if name:
        questions.insert(0, (_NAMED, (name, piece.line)))
    for where, parameters in questions:
        number = index.first_in(file, where, parameters)
        if number is not None:
            return number
    return None
