"""Symbol tables that resolution queries, in memory or from the catalogue, and the record of who asked what."""

from __future__ import annotations

import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from assay.index.file import File, Sym, stem
from assay.store.arrays import members

T = TypeVar("T")

MAX_DEPTH = 200  # questions nested in each other; the deepest of the repositories in docs/resolution.md takes a third
MAX_STEPS = 1 << 16  # taken in one frame: ten times what any of them takes
MAX_SECONDS = 20.0  # of processor time for one file, where a step itself is slow: a hundred times the slowest of them
_CHECK = 0x3FF  # steps between two looks at the budget
_NEVER = 1 << 30


class Unanswerable(Exception):
    """A reference takes more questions, or more of them nested in each other, than code that people write."""


class Endless(Unanswerable):
    """A question takes too many others wherever it is asked."""


class TookTooLong(Exception):
    """The questions of one file take more time than a file is given."""


class Frame:
    """What the asker at hand already knows: answers that, asked again, add nothing to its reads; which locals it is evaluating; and
    how much it took so far. A frame starts empty and its course depends on its questions alone, so these figures do, too."""

    __slots__ = ("answers", "base", "busy", "cut", "height", "met", "reach", "shared", "steps")

    def __init__(self, base: int = 0) -> None:
        self.answers: dict[Any, Any] = {}
        self.busy: set[tuple[str, int]] = set()
        self.met = 0  # times a local that is being evaluated was met again
        self.base = base  # the depth it began at
        self.reach = 0  # the deepest nesting inside it, without what other frames answered
        self.height = 0  # of the highest of their answers
        self.steps = 0
        self.cut = _NEVER  # the lowest depth of a question under way that was met again
        self.shared = 0  # what the frames took that are part of such a cycle


_UNKNOWN = object()  # the value of what could not be answered; `cut` is the depth at which it was asked


class Kept:
    """A remembered answer and its height. While a question below it is under way which it met again, `cut` is the depth of that one:
    then its height is known only when that one is answered."""

    __slots__ = ("cut", "height", "reads", "value")

    def __init__(self, value: Any, height: int, cut: int, reads: set[str]) -> None:
        self.value, self.height, self.cut, self.reads = value, height, cut, reads


class Table:
    """All files by path and all symbols by name. `load` fetches a file's facts when they are first asked for."""

    def __init__(self, paths: Iterable[str], load: Callable[[str], File | None], configs: dict[str, str]) -> None:
        self.paths = set(paths)
        self.configs = configs  # manifests such as go.mod, by path
        self._load = load
        self._files: dict[str, File | None] = {}
        self.reads: set[str] = set()
        self.frame = Frame()
        self.behind: dict[str, set[str]] = {}  # remembered answer → the questions it took
        self._remembered: dict[str, Kept] = {}
        self.depth = 0  # questions under way
        self._start = 0  # the depth at which the first of them was asked that is not part of the file's own frame
        # where answers stand whose height is not known yet
        self._open: list[tuple[MutableMapping[Any, Kept], Any]] = []
        self._deadline = float("inf")
        self._worked = 0  # answers worked out so far
        self.places: dict[tuple[str, str, str], tuple[Any, frozenset[str]]] = {}  # of imports, see modules.locate

    @cached_property
    def by_stem(self) -> dict[str, list[str]]:
        """File stem → paths, for finding modules by the end of their path."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[stem(path)].append(path)
        return out

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Folder → the source files directly in it."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[path.rpartition("/")[0]].append(path)
        return out

    @cached_property
    def all_folders(self) -> set[str]:
        """Every folder with source files somewhere below it."""
        out: set[str] = set()
        for folder in self.folders:
            while folder not in out:
                out.add(folder)
                folder = folder.rpartition("/")[0]
        return out

    def file(self, path: str) -> File | None:
        if path not in self._files:
            self._files[path] = self._load(path) if path in self.paths else None
        return self._files[path]

    def begin_file(self) -> None:
        """Begins a file: nothing asked yet."""
        self.reads = set()
        self._deadline = time.thread_time() + MAX_SECONDS
        self.begin_question(Frame())

    def begin_question(self, frame: Frame | None = None) -> None:
        """Begins a question of the file at hand, with all its budget."""
        self.frame = frame or self.frame
        self.depth = self.frame.steps = 0

    def remembered(self, token: str, answer: Callable[[], T]) -> T:
        """An answer that takes questions of its own, worked out once. Whoever uses it depends on `token`, and through it on those."""
        self.reads.add(token)
        kept = self._remembered.get(token)
        if kept is None or not self._use(kept):
            kept = self._work_out(self._remembered, token, answer)
            self.behind[token] = kept.reads
            if kept.value is _UNKNOWN:
                self._fail(kept)
        value: T = kept.value
        return value

    def recalled(
        self, cache: MutableMapping[Any, Kept], key: Any, answer: Callable[[], T], provisional: bool = True
    ) -> T:
        """An answer from a cache of the caller's own, worked out once. Its questions are those of whoever uses it. Without `provisional`,
        one that met a question under way is worked out again the next time."""
        kept = cache.get(key)
        if kept is not None:
            self.reads |= kept.reads
        if kept is None or not self._use(kept):
            kept = self._work_out(cache, key, answer)
            self.reads |= kept.reads
            if kept.value is _UNKNOWN:
                self._fail(kept)
            if kept.cut < _NEVER and not provisional:
                cache.pop(key, None)
        value: T = kept.value
        return value

    def _use(self, kept: Kept) -> bool:
        """Counts a remembered answer as if it were worked out here. False for one that failed when there was less room: it may be part of a
        cycle with any question under way, so it is the room of the first of these that counts."""
        frame = self.frame
        if kept.value is _UNKNOWN:
            start = self._start if frame.base else self.depth
            if start < kept.cut and kept.height < _NEVER:
                return False
            self._fail(kept)
        if self.depth + kept.height > MAX_DEPTH:
            raise Unanswerable
        if kept.height > frame.height:
            frame.height = kept.height
        if kept.cut < frame.cut:
            frame.cut = kept.cut
        return True

    @staticmethod
    def _fail(kept: Kept) -> NoReturn:
        raise Endless if kept.height >= _NEVER else Unanswerable

    def _work_out(self, cache: MutableMapping[Any, Kept], key: Any, answer: Callable[[], Any]) -> Kept:
        """Answers a question in a frame of its own and keeps the answer, also that there is none."""
        outer, reads, first = self.frame, self.reads, len(self._open)
        if not outer.base:
            self._start = self.depth
        base = self.depth = self.depth + 1
        frame = self.frame = Frame(base)
        self.reads = set()
        try:
            if base > MAX_DEPTH:
                raise Unanswerable
            self._worked += 1
            if not self._worked & _CHECK and time.thread_time() > self._deadline:
                raise TookTooLong
            value = answer()
            took = 1 + frame.reach + frame.shared
            if base - 1 + took + frame.height > MAX_DEPTH:
                raise Unanswerable
        except BaseException as error:
            self._forget(first)
            if not isinstance(error, Unanswerable) or frame.cut < _NEVER:  # in a cycle the way it was asked decides
                reads |= self.reads
                outer.cut = min(outer.cut, frame.cut)
                raise
            height = _NEVER if isinstance(error, Endless) else 0
            kept = cache[key] = Kept(_UNKNOWN, height, base - 1, self.reads)
            return kept
        finally:
            asked = self.reads
            self.frame, self.reads, self.depth = outer, reads, base - 1
        if frame.cut < base:  # part of a cycle that began below: all of it is as high as its beginning
            kept = Kept(value, 0, frame.cut, asked)
            self._open.append((cache, key))
            outer.shared += took
            outer.height = max(outer.height, frame.height)
            outer.cut = min(outer.cut, frame.cut)
        else:
            kept = Kept(value, took + frame.height, _NEVER, asked)
            for where, which in self._open[first:]:
                if (member := where.get(which)) is not None:
                    member.height, member.cut = kept.height, _NEVER
            del self._open[first:]
            outer.height = max(outer.height, kept.height)
        cache[key] = kept
        return kept

    def _forget(self, first: int) -> None:
        """Drops the answers whose height waits for a question that has no answer."""
        for where, which in self._open[first:]:
            where.pop(which, None)
        del self._open[first:]

    def enter(self) -> None:
        """Notes a step that may lead to others like it inside the frame at hand; `leave` notes its end."""
        frame = self.frame
        self.depth = depth = self.depth + 1
        frame.steps = steps = frame.steps + 1
        if depth - frame.base > frame.reach:
            if depth > MAX_DEPTH:
                raise Unanswerable
            frame.reach = depth - frame.base
        if not steps & _CHECK:
            if steps >= MAX_STEPS:
                raise Endless
            if time.thread_time() > self._deadline:
                raise TookTooLong

    def leave(self) -> None:
        self.depth -= 1

    def meet_again(self, depth: int) -> None:
        """Notes that a question was met again that is under way, asked at this depth."""
        if depth < self.frame.cut:
            self.frame.cut = depth

    # the questions; each is recorded

    def named(self, name: str, kin: str) -> list[Sym]:
        """Every symbol of this name in languages that see each other. Thousands may share a name: the list is nobody's own."""
        self.reads.add(name)
        return self._named(name, kin)

    def member(self, owner: str, name: str) -> list[Sym]:
        self.reads.add(name)
        return self._member(owner, name)

    def members(self, owner: str) -> list[Sym]:
        self.reads.add(f"members:{owner}")
        return self._members(owner)

    def interfaces(self, kin: str) -> list[Sym]:
        """Every interface, for languages in which types satisfy them without saying so."""
        self.reads.add(f"interfaces:{kin}")
        return self._interfaces(kin)

    def scope(self, path: str) -> File | None:
        """Another file's imports and top-level names."""
        self.reads.add(f"imports:{path}")
        return self.file(path)

    def located(self, name: str) -> None:
        """Records that a file or folder of this name was looked for."""
        self.reads.add(f"file:{name}")

    # where the answers come from; see FullTable and store-backed tables

    def _named(self, name: str, kin: str) -> list[Sym]:
        raise NotImplementedError

    def _member(self, owner: str, name: str) -> list[Sym]:
        raise NotImplementedError

    def _members(self, owner: str) -> list[Sym]:
        raise NotImplementedError

    def _interfaces(self, kin: str) -> list[Sym]:
        raise NotImplementedError


class FullTable(Table):
    """All symbols in memory: for indexing from scratch."""

    def __init__(self, files: dict[str, File], configs: dict[str, str]) -> None:
        super().__init__(files, files.get, configs)
        self._by_name: dict[tuple[str, str], list[Sym]] = defaultdict(list)
        self._by_owner: dict[str, dict[str, list[Sym]]] = defaultdict(dict)
        self._by_kin: dict[str, list[Sym]] = defaultdict(list)
        for path in sorted(files):
            file = files[path]
            for index in range(len(file.facts.symbols)):
                sym = file.sym(index)
                self._by_name[sym.name, sym.kin].append(sym)
                if sym.owner:
                    self._by_owner[sym.owner].setdefault(sym.name, []).append(sym)
                if sym.kind == "interface":
                    self._by_kin[sym.kin].append(sym)

    def _named(self, name: str, kin: str) -> list[Sym]:
        return self._by_name.get((name, kin), [])

    def _member(self, owner: str, name: str) -> list[Sym]:
        members = self._by_owner.get(owner)
        return members.get(name, []) if members else []

    def _members(self, owner: str) -> list[Sym]:
        return sorted(
            (sym for syms in self._by_owner.get(owner, {}).values() for sym in syms), key=lambda s: (s.path, s.index)
        )

    def _interfaces(self, kin: str) -> list[Sym]:
        return self._by_kin[kin]


# Who asked what: for every resolved file and every remembered answer, the questions it took.

NAME = "dependencies.npz"

Hashes = npt.NDArray[Any]


@lru_cache(maxsize=1 << 16)  # the questions asked most; every worker has its own
def _hash(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def file_token(path: str) -> str:
    return f"resolve:{path}"


class Dependencies:
    """Pairs (asker, question), both hashed."""

    def __init__(self, askers: Hashes, questions: Hashes) -> None:
        self._askers, self._questions = askers, questions

    @classmethod
    def of(cls, asked: Mapping[str, Iterable[str]]) -> Dependencies:
        askers: list[int] = []
        counts: list[int] = []
        questions: list[int] = []
        for token, keys in asked.items():
            before = len(questions)
            questions += map(_hash, keys)
            askers.append(_hash(token))
            counts.append(len(questions) - before)
        return cls(np.repeat(np.array(askers, "<u4"), np.array(counts, "i8")), np.array(questions, "<u4"))

    @classmethod
    def joined(cls, parts: list[Dependencies]) -> Dependencies:
        """Several as one; an answer worked out in several processes is kept once."""
        pairs = [p._askers.astype("<u8") << np.uint64(32) | p._questions for p in parts]
        both = np.unique(np.concatenate(pairs)) if pairs else np.array([], "<u8")
        return cls((both >> np.uint64(32)).astype("<u4"), both.astype("<u4"))

    @classmethod
    def load(cls, folder: Path) -> Dependencies:
        """Those of a generation; raises nearly anything when they are damaged."""
        data = members(folder / NAME, verify=True)
        askers, questions = data["askers"], data["questions"]
        if (
            not askers.dtype == questions.dtype == "<u4"
            or not len(askers) == len(questions) == askers.size == questions.size
        ):
            raise ValueError("not the dependencies that are written")
        return cls(askers, questions)

    def save(self, folder: Path) -> None:
        np.savez(folder / NAME, askers=self._askers, questions=self._questions)

    def replaced(self, fresh: Dependencies, gone: Iterable[str]) -> Dependencies:
        """These dependencies with those of freshly resolved askers in their place, and without what is gone."""
        keep = ~_among(self._askers, set(fresh._askers.tolist()) | {_hash(token) for token in gone})
        return Dependencies(
            np.concatenate([self._askers[keep], fresh._askers]),
            np.concatenate([self._questions[keep], fresh._questions]),
        )

    def affected(self, keys: Iterable[str], paths: Iterable[str]) -> set[str]:
        """Those of `paths` whose resolution depends on the answer to any of these questions."""
        reached = {_hash(key) for key in keys}
        changed = reached
        while changed:
            askers = self._askers[_among(self._questions, changed)]
            changed = set(askers.tolist()) - reached
            reached |= changed
        return {path for path in paths if _hash(file_token(path)) in reached}


def _among(values: Hashes, wanted: set[int]) -> Hashes:
    """Which of the values are wanted ones. Faster than numpy's own for a few among many."""
    if not wanted:
        return np.zeros(len(values), bool)
    ordered = np.array(sorted(wanted), "<u4")
    places = np.searchsorted(ordered, values)
    found: Hashes = ordered[np.minimum(places, len(ordered) - 1)] == values
    return found
