"""From the paths and stack frames of a task to the items at those places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from assay.core.items import TYPE_KINDS
from assay.rank.pieces import Piece
from assay.rank.query import Keywords
from assay.rank.signals.names import NameHit
from assay.rank.vocabulary import ACTION_VERBS, FILLERS, STOP_WORDS
from assay.store.index import Index
from assay.text.terms import terms, words

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


# Path context: types in the folders and files that a task speaks of. From a type the walk goes on to its members.

_SHORTEST = 4  # letters of a term that may name a folder
_RICH, _LEAN, _OTHER = 5, 10, 15  # per term: types with members, types without, anything else
_IN_ALL = 30
_TERM = re.compile(r"[^\W\d_]+")
_TYPES = ", ".join(repr(kind) for kind in sorted(TYPE_KINDS))
# product code before tests, outer before inner; ids make it total
_ITEMS = (
    f"SELECT s.number, s.kind IN ({_TYPES}), m.members IS NOT NULL, coalesce(m.members, '') FROM symbols s LEFT JOIN "
    "(SELECT owner, group_concat(name, ' ') AS members FROM symbols WHERE file IN ({files}) GROUP BY owner) m ON m.owner = s.id "
    "WHERE s.file IN ({files}) AND s.ordinal >= 0 ORDER BY s.test, length(s.symbol), s.id"
)
_FILES = 60  # looked into per term: a folder as large as the project is not a place


def path_terms(task: str) -> list[str]:
    """The words of a task that may be names of folders or packages."""
    found = (word.lower() for word in _TERM.findall(task))
    return list(dict.fromkeys(w for w in found if len(w) >= _SHORTEST and w not in STOP_WORDS | ACTION_VERBS | FILLERS))


def path_context(index: Index, task: str, named: Keywords) -> list[int]:
    """Items under the paths a task speaks of, best first: types whose members the task names, other types, the rest."""
    wanted = {term for word in named.components for term in terms(word)}
    found: dict[int, None] = {}
    for term in path_terms(task):
        files = _under(index, term)
        if files:
            found |= dict.fromkeys(_of_files(index, files, wanted - set(terms(term))))
    return list(found)[:_IN_ALL]


def _under(index: Index, term: str) -> list[int]:
    """The files with a folder or name that begins with a term: `migration` means `migrations/` too."""
    stem = term.removesuffix("s")
    found = [row.number for path, row in index.files.items() if any(one.startswith(stem) for one in _parts(path))]
    return found if len(found) <= _FILES else []


def _parts(path: str) -> Iterable[str]:
    return re.split(r"[/._-]", path.lower())


def _of_files(index: Index, files: list[int], wanted: set[str]) -> list[int]:
    meant: list[int] = []
    rich: list[int] = []
    lean: list[int] = []
    other: list[int] = []
    for number, is_type, has_members, members in index.rows_of(_ITEMS, files):
        if not is_type:
            other.append(number)
        elif not has_members:
            lean.append(number)
        elif wanted & {term for member in members.split() for word in words(member) for term in terms(word)}:
            meant.append(number)
        else:
            rich.append(number)
    return (meant + rich)[:_RICH] + lean[:_LEAN] + other[:_OTHER]
