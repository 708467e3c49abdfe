"""The symbol table that name resolution queries.

Queries are memoized and recorded: `Table.reads` holds the keys of every lookup made for the current file or memoized
answer. `Dependencies` stores them as (reader, key) pairs, so that an update can find the files to resolve again. Depth,
steps and time per query are bounded.
"""

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

from assay.index.file import File, MemorySymbols, Sym, Symbols, stem
from assay.store.arrays import members

T = TypeVar("T")

MAX_DEPTH = 200  # nested queries; three times the deepest in the repositories of docs/resolution.md
MAX_STEPS = 1 << 16  # per frame; ten times the maximum in those repositories
MAX_SECONDS = 20.0  # processor time per file, in case single steps are slow; a hundred times the slowest file there
_CHECK = 0x3FF  # bit mask: the deadline is checked every 1024 steps
_NEVER = 1 << 30


class BudgetExceeded(Exception):
    """A query exceeds its depth or step budget, which code written by people does not."""


class StepBudgetExceeded(BudgetExceeded):
    """A query exceeds its step budget regardless of the depth it starts at."""


class TimeBudgetExceeded(Exception):
    """Resolving one file exceeds its time budget (MAX_SECONDS)."""


class FullIndexNeeded(Exception):
    """An incremental update is not possible; the message is the reason."""


class Frame:
    """Evaluation state of one memoized query, or of the current file.

    Holds answers that add nothing to `reads` when repeated, the locals under evaluation, and the budget used so far. A
    frame starts empty and depends on its own queries alone, so its figures are reproducible.
    """

    __slots__ = ("answers", "base", "busy", "cut", "height", "met", "reach", "shared", "steps")

    def __init__(self, base: int = 0) -> None:
        self.answers: dict[Any, Any] = {}
        self.busy: set[tuple[str, int]] = set()
        self.met = 0  # cycles: times a local was reached while it was being evaluated
        self.base = base  # depth at which the frame starts
        self.reach = 0  # deepest nesting inside the frame, without nested frames
        self.height = 0  # maximum height of the memoized answers it used
        self.steps = 0
        self.cut = _NEVER  # lowest depth of a running query that was reached again (start of a cycle)
        self.shared = 0  # total reach of the frames that are part of such a cycle


_FAILED = object()  # value of a query that failed; its `cut` is the depth at which it ran


class MemoEntry:
    """A memoized answer with its height (nesting depth it needs).

    `cut` is the depth of the running query that this answer reached again, if any: until that query ends, the height is
    provisional.
    """

    __slots__ = ("cut", "height", "reads", "value")

    def __init__(self, value: Any, height: int, cut: int, reads: set[str]) -> None:
        self.value, self.height, self.cut, self.reads = value, height, cut, reads


class Table:
    """All files by path and all symbols by name. `load` reads a file's facts on first use."""

    def __init__(
        self,
        symbols: Symbols,
        paths: Iterable[str],
        load: Callable[[str], File | None],
        configs: dict[str, str],
    ) -> None:
        self._symbols = symbols
        self.paths = set(paths)
        self.configs = configs  # manifests such as go.mod, by path
        self._load = load
        self._files: dict[str, File | None] = {}
        self.reads: set[str] = set()
        self.frame = Frame()
        self.behind: dict[str, set[str]] = {}  # token of a memoized answer → keys of the lookups it made
        self._memo: dict[str, MemoEntry] = {}
        self.depth = 0  # number of running queries
        self._outermost_depth = 0  # depth of the outermost query outside the file's own frame
        # cache and key of each answer whose height is provisional
        self._provisional: list[tuple[MutableMapping[Any, MemoEntry], Any]] = []
        self._deadline = float("inf")
        self._computed = 0  # answers computed so far
        self.places: dict[
            tuple[str, str, str], tuple[Any, frozenset[str]]
        ] = {}  # import targets, see ImportStyle.locate

    def without_answers(self) -> Table:
        """Return a table of the same files and symbols that remembers nothing."""
        return Table(self._symbols, self.paths, self._load, self.configs)

    @cached_property
    def by_stem(self) -> dict[str, list[str]]:
        """Map each file stem to its paths, to find modules by the end of their path."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[stem(path)].append(path)
        return out

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Map each folder to the source files directly in it."""
        out: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            out[path.rpartition("/")[0]].append(path)
        return out

    @cached_property
    def all_folders(self) -> set[str]:
        """Folders that contain source files at any depth."""
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
        """Reset reads, deadline and frame for the next file."""
        self.reads = set()
        self._deadline = time.thread_time() + MAX_SECONDS
        self.begin_query(Frame())

    def begin_query(self, frame: Frame | None = None) -> None:
        """Reset the budget for the next top-level query of the current file."""
        self.frame = frame or self.frame
        self.depth = self.frame.steps = 0

    def remembered(self, token: str, answer: Callable[[], T]) -> T:
        """Return a memoized answer, computing it on first use.

        The caller depends on `token`, and through it on the lookups the answer made.
        """
        self.reads.add(token)
        cached = self._memo.get(token)
        if cached is None or not self._reuse(cached):
            cached = self._compute(self._memo, token, answer)
            self.behind[token] = cached.reads
            if cached.value is _FAILED:
                self._fail(cached)
        value: T = cached.value
        return value

    def memoize_in(
        self, cache: MutableMapping[Any, MemoEntry], key: Any, answer: Callable[[], T], provisional: bool = True
    ) -> T:
        """Return an answer from a cache of the caller's own, computing it on first use.

        Its lookups are added to the caller's reads. Without `provisional`, an answer that reached a running query is
        not cached.
        """
        cached = cache.get(key)
        if cached is not None:
            self.reads |= cached.reads
        if cached is None or not self._reuse(cached):
            cached = self._compute(cache, key, answer)
            self.reads |= cached.reads
            if cached.value is _FAILED:
                self._fail(cached)
            if cached.cut < _NEVER and not provisional:
                cache.pop(key, None)
        value: T = cached.value
        return value

    def _reuse(self, cached: MemoEntry) -> bool:
        """Charge a cached answer to the current budget as if it were computed here.

        Return False for a failed answer that had less depth available than there is now. As it may be part of a cycle
        with any running query, the depth of the outermost one counts.
        """
        frame = self.frame
        if cached.value is _FAILED:
            start = self._outermost_depth if frame.base else self.depth
            if start < cached.cut and cached.height < _NEVER:
                return False
            self._fail(cached)
        if self.depth + cached.height > MAX_DEPTH:
            raise BudgetExceeded
        if cached.height > frame.height:
            frame.height = cached.height
        if cached.cut < frame.cut:
            frame.cut = cached.cut
        return True

    @staticmethod
    def _fail(cached: MemoEntry) -> NoReturn:
        raise StepBudgetExceeded if cached.height >= _NEVER else BudgetExceeded

    def _compute(self, cache: MutableMapping[Any, MemoEntry], key: Any, answer: Callable[[], Any]) -> MemoEntry:
        """Run a query in a frame of its own and cache the answer, or its failure."""
        outer, reads, first = self.frame, self.reads, len(self._provisional)
        if not outer.base:
            self._outermost_depth = self.depth
        base = self.depth = self.depth + 1
        frame = self.frame = Frame(base)
        self.reads = set()
        try:
            if base > MAX_DEPTH:
                raise BudgetExceeded
            self._computed += 1
            if not self._computed & _CHECK and time.thread_time() > self._deadline:
                raise TimeBudgetExceeded
            value = answer()
            used = 1 + frame.reach + frame.shared
            if base - 1 + used + frame.height > MAX_DEPTH:
                raise BudgetExceeded
        except BaseException as error:
            self._drop_provisional(first)
            if (
                not isinstance(error, BudgetExceeded) or frame.cut < _NEVER
            ):  # in a cycle, the failure depends on the entry point
                reads |= self.reads
                outer.cut = min(outer.cut, frame.cut)
                raise
            height = _NEVER if isinstance(error, StepBudgetExceeded) else 0
            cached = cache[key] = MemoEntry(_FAILED, height, base - 1, self.reads)
            return cached
        finally:
            answer_reads = self.reads
            self.frame, self.reads, self.depth = outer, reads, base - 1
        if frame.cut < base:  # part of a cycle that starts further out: all members share its height
            cached = MemoEntry(value, 0, frame.cut, answer_reads)
            self._provisional.append((cache, key))
            outer.shared += used
            outer.height = max(outer.height, frame.height)
            outer.cut = min(outer.cut, frame.cut)
        else:
            cached = MemoEntry(value, used + frame.height, _NEVER, answer_reads)
            for member_cache, member_key in self._provisional[first:]:
                if (member := member_cache.get(member_key)) is not None:
                    member.height, member.cut = cached.height, _NEVER
            del self._provisional[first:]
            outer.height = max(outer.height, cached.height)
        cache[key] = cached
        return cached

    def _drop_provisional(self, first: int) -> None:
        """Drop the answers whose height depends on a query that failed."""
        for member_cache, member_key in self._provisional[first:]:
            member_cache.pop(member_key, None)
        del self._provisional[first:]

    def enter(self) -> None:
        """Count a step that may recurse inside the current frame; `leave` ends it."""
        frame = self.frame
        self.depth = depth = self.depth + 1
        frame.steps = steps = frame.steps + 1
        if depth - frame.base > frame.reach:
            if depth > MAX_DEPTH:
                raise BudgetExceeded
            frame.reach = depth - frame.base
        if not steps & _CHECK:
            if steps >= MAX_STEPS:
                raise StepBudgetExceeded
            if time.thread_time() > self._deadline:
                raise TimeBudgetExceeded

    def leave(self) -> None:
        self.depth -= 1

    def record_cycle(self, depth: int) -> None:
        """Record that a running query, started at `depth`, was reached again."""
        if depth < self.frame.cut:
            self.frame.cut = depth

    # lookups; each is recorded in `reads`

    def named(self, name: str, kin: str) -> list[Sym]:
        """Return every symbol of this name in a language family. The list is shared and may be long: read only."""
        self.reads.add(name)
        return self._symbols.named(name, kin)

    def member(self, owner: str, name: str) -> list[Sym]:
        self.reads.add(name)
        return self._symbols.member(owner, name)

    def members(self, owner: str) -> list[Sym]:
        self.reads.add(f"members:{owner}")
        return self._symbols.members(owner)

    def interfaces(self, kin: str) -> list[Sym]:
        """Return every interface, for languages with structural typing."""
        self.reads.add(f"interfaces:{kin}")
        return self._symbols.interfaces(kin)

    def scope(self, path: str) -> File | None:
        """Return another file for its imports and top-level names."""
        self.reads.add(f"imports:{path}")
        return self.file(path)

    def record_file_lookup(self, name: str) -> None:
        """Record that a file or folder of this name was searched for."""
        self.reads.add(f"file:{name}")


def full_table(files: dict[str, File], configs: dict[str, str]) -> Table:
    """Return the table of a full index, whose files are all in memory."""
    return Table(MemorySymbols(files.values()), files, files.get, configs)


# Dependencies between files, recorded while resolving.

NAME = "dependencies.npz"

Hashes = npt.NDArray[Any]


@lru_cache(maxsize=1 << 16)  # the most frequent keys; one cache per worker
def _hash(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def file_token(path: str) -> str:
    return f"resolve:{path}"


class Dependencies:
    """(reader, lookup key) pairs, both hashed. Readers are resolved files and memoized answers."""

    def __init__(self, askers: Hashes, questions: Hashes) -> None:
        self._askers, self._questions = askers, questions

    @classmethod
    def of(cls, asked: Mapping[str, Iterable[str]]) -> Dependencies:
        """Build from the lookup keys of each reader."""
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
        """Merge the dependencies of several processes, without duplicates."""
        pairs = [p._askers.astype("<u8") << np.uint64(32) | p._questions for p in parts]
        both = np.unique(np.concatenate(pairs)) if pairs else np.array([], "<u8")
        return cls((both >> np.uint64(32)).astype("<u4"), both.astype("<u4"))

    @classmethod
    def load(cls, folder: Path) -> Dependencies:
        """Read the dependencies of a generation. Damaged files raise almost any exception (see `DAMAGE`)."""
        data = members(folder / NAME, verify=True)
        askers, questions = data["askers"], data["questions"]
        if (
            not askers.dtype == questions.dtype == "<u4"
            or not len(askers) == len(questions) == askers.size == questions.size
        ):
            raise ValueError("not a dependencies file")
        return cls(askers, questions)

    def save(self, folder: Path) -> None:
        np.savez(folder / NAME, askers=self._askers, questions=self._questions)

    def replaced(self, fresh: Dependencies, gone: Iterable[str]) -> Dependencies:
        """Return a copy with the pairs of freshly resolved readers replaced and those of `gone` ones removed."""
        stays = ~_is_in(self._askers, set(fresh._askers.tolist()) | {_hash(token) for token in gone})
        return Dependencies(
            np.concatenate([self._askers[stays], fresh._askers]),
            np.concatenate([self._questions[stays], fresh._questions]),
        )

    def affected(self, keys: Iterable[str], paths: Iterable[str]) -> set[str]:
        """Return those of `paths` whose resolution depends, directly or not, on any of the lookup keys."""
        reached = {_hash(key) for key in keys}
        changed = reached
        while changed:
            askers = self._askers[_is_in(self._questions, changed)]
            changed = set(askers.tolist()) - reached
            reached |= changed
        return {path for path in paths if _hash(file_token(path)) in reached}


def _is_in(values: Hashes, members: set[int]) -> Hashes:
    """Return a mask of the values that are in `members`. Faster than np.isin for few members."""
    if not members:
        return np.zeros(len(values), bool)
    ordered = np.array(sorted(members), "<u4")
    positions = np.searchsorted(ordered, values)
    matches: Hashes = ordered[np.minimum(positions, len(ordered) - 1)] == values
    return matches
