"""Golden-set verification, everything expected must exist, and diagnosis: the stage that lost each missed expectation.

An expectation that is missing from the corpus can never be found and would look like a ranking loss.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.files import list_files
from assay.evaluate.fixture_rules import Packages
from assay.evaluate.judging import mark
from assay.evaluate.matching import MATCHERS, Matcher, components, same_path
from assay.evaluate.systems import SystemFailed, shape
from assay.system.inputs import open_unpacked, read_json, read_lines
from assay.text.terms import nearest

_MAX_SUGGESTIONS = 3
_TASK_WIDTH = 40  # characters of a task in a message


@dataclass(frozen=True, slots=True)
class Missing:
    """An expectation that nothing in the corpus matches."""

    query: GoldenQuery
    expected: Expected
    near: tuple[str, ...]

    def __str__(self) -> str:
        task = (
            self.query.text
            if len(self.query.text) <= _TASK_WIDTH
            else self.query.text[: _TASK_WIDTH - 2].rstrip() + "..."
        )
        hint = f"  (nearest: {', '.join(self.near)})" if self.near else ""
        place = self.expected
        lines = f":{place.start}-{place.end}" if place.end else f", page {place.page}" if place.page else ""
        name = f"{place.name}{lines}" if place.level == "span" else place.name
        return f"MISSING [{self.query.tier or '-'}] {task}: {name}{hint}"

    def as_json(self) -> dict[str, Any]:
        query, expected = self.query, self.expected
        return {
            "query": query.id, "tier": query.tier, "text": query.text, "expected": expected.name, "level": expected.level,
            "where": query.where, "nearest": list(self.near),
        }  # fmt: skip


class Inventory:
    """All items of a corpus, by name. Expectations at levels it does not cover are not checked."""

    def __init__(self, hits: Iterable[Hit], levels: Iterable[str], passages: Iterable[Hit] = ()) -> None:
        self.hits = list(hits)
        self.levels = frozenset(levels)
        self._by_name: dict[str, list[Hit]] = {}
        self._exact: set[str] = set()
        self._paths: set[str] = set()
        self._passages: dict[str, list[Hit]] = {}  # by path
        for hit in self.hits:
            self._exact |= {hit.id, hit.symbol, hit.doc}
            if hit.path:
                parts = hit.path.split("/")
                self._paths |= {"/".join(parts[start:]) for start in range(len(parts))}
            for part in components(hit.symbol or hit.id)[-1:]:
                self._by_name.setdefault(part, []).append(hit)
        for hit in passages:
            self._exact.add(hit.id)
            self._passages.setdefault(hit.path, []).append(hit)

    def has(self, expected: Expected, matcher: Matcher) -> bool:
        """Return True when a run that is judged by the matcher could find the expectation in the corpus."""
        if expected.level == "file":
            return expected.name.removeprefix("./") in self._paths
        if expected.level == "span":
            return self._has_span(expected)
        if expected.name in self._exact:
            return True
        return expected.level == "symbol" and bool(self.matching(expected, matcher, first=True))

    def matching(self, expected: Expected, matcher: Matcher, first: bool = False) -> list[Hit]:
        """Return the items that a symbol expectation matches, or only one: by last name part, then by a full scan."""
        # `dotted` accepts a class for its methods, which does not prove that the method exists
        judge_by = MATCHERS["strict"] if matcher.name == "dotted" or matcher.level not in ("", "symbol") else matcher
        candidates = self._by_name.get((components(expected.name) or ("",))[-1], [])
        matched = [hit for hit in candidates if judge_by.matches(hit, expected)]
        if matched or judge_by.name != "symbol":
            return matched
        scanned = (hit for hit in self.hits if hit.symbol and judge_by.matches(hit, expected))
        return list(islice(scanned, 1 if first else None))

    def _has_span(self, expected: Expected) -> bool:
        """Return True when the file exists and, if it was divided into passages, one of them has the lines or page."""
        path = (expected.doc or expected.name).removeprefix("./")
        if path not in self._paths:
            return False
        divided = [hit for name, hits in self._passages.items() if same_path(name, path) for hit in hits]
        return not divided or any(MATCHERS["span"].matches(hit, expected) for hit in divided)

    def nearest(self, expected: Expected) -> tuple[str, ...]:
        if expected.level in ("file", "span"):
            path = expected.doc or expected.name
            if expected.level == "span" and path.removeprefix("./") in self._paths:
                return ()
            return tuple(nearest(path, {hit.path for hit in self.hits if hit.path}, _MAX_SUGGESTIONS))
        if expected.level == "chunk":
            ids = {hit.id for hits in self._passages.values() for hit in hits} or {hit.id for hit in self.hits}
            return tuple(nearest(expected.name, ids, _MAX_SUGGESTIONS))
        names = {hit.symbol or hit.id for hit in self.hits}
        return tuple(nearest(expected.name.rpartition("::")[2], names, _MAX_SUGGESTIONS))


def verify(
    queries: Sequence[GoldenQuery], inventories: Mapping[str, Inventory], matcher: Matcher
) -> tuple[list[Missing], int, int]:
    """Return the missing expectations, the number checked, and the number skipped (level or repository not covered).

    Inventories are by repository; the one called "" serves queries without a repository.
    """
    missing: list[Missing] = []
    checked = skipped = 0
    for query in queries:
        inventory = inventories.get(query.repository) or inventories.get("")
        for expected in query.expected:
            if inventory is None or expected.level not in inventory.levels:
                skipped += 1
                continue
            checked += 1
            if not inventory.has(expected, matcher):
                missing.append(Missing(query, expected, inventory.nearest(expected)))
    return missing, checked, skipped


# inventories of retrievable items: index, folder, item list, BEIR corpus

_LARGEST_CORPUS = 8_000_000_000  # bytes of a BEIR corpus; only its ids are kept


def inventories(golden: GoldenSet, root: Path, corpus: Path | None, items: Path | None) -> dict[str, Inventory]:
    """Return the retrievable items by repository; "" for queries without one."""
    if items is not None:
        return {"": Inventory(_read_items(items), ("symbol", "file", "doc", "chunk", "span"))}
    if golden.format == "beir":
        corpus_file = _beir_corpus(Path(golden.path))
        return (
            {"": Inventory((Hit(identifier) for identifier in _beir_ids(corpus_file)), ("doc",))} if corpus_file else {}
        )
    if golden.format == "trec":
        return {}  # the documents are elsewhere
    with_passages = not {"chunk", "span"}.isdisjoint(golden.levels)
    if corpus is None:
        return {"": _folder_inventory(root, with_passages)}
    names = {query.repository for query in golden.queries if query.repository}
    present = [name for name in sorted(names) if (corpus / name).is_dir()]
    return {name: _folder_inventory(corpus / name, with_passages) for name in present}


def _folder_inventory(folder: Path, with_passages: bool) -> Inventory:
    """Return the files of a folder, and the symbols and passages of its index, if any."""
    from assay.evaluate.systems.assay import Assay
    from assay.evaluate.systems.search import open_chunker

    hits = [Hit(path, path=path, doc=path) for path in list_files(folder)]
    levels, passages = ["file", "span", "doc"], list[Hit]()
    with contextlib.closing(Assay(folder)) as system, contextlib.suppress(SystemFailed):
        hits += system.items()
        levels.append("symbol")
    if with_passages:
        with contextlib.closing(open_chunker(folder)) as search, contextlib.suppress(SystemFailed):
            passages = [hit for hit, _ in search.chunks()]
            levels.append("chunk")
    return Inventory(hits, levels, passages)


def packages_of(inventories: Mapping[str, Inventory], matcher: Matcher) -> Packages:
    """Return a lookup of the folders that hold what matches a symbol expectation."""

    def packages(expected: Expected, repository: str) -> frozenset[str]:
        inventory = inventories.get(repository) or inventories.get("")
        matched = inventory.matching(expected, matcher) if inventory else []
        return frozenset(hit.path.rpartition("/")[0] for hit in matched if hit.path)

    return packages


def existence(system_name: str, root: Path, corpus: Path | None) -> Exists:
    """Return a lookup of whether an expectation exists: by the index for assay, None for other systems."""
    if not system_name.startswith("assay"):
        return lambda expected, repository: None
    from assay.evaluate.systems.assay import Assay

    system = Assay(root, corpus)

    @cache
    def inventory(repository: str) -> Inventory | None:
        try:
            return Inventory(system.items(repository), ("symbol", "file"))
        except AssayError:
            return None

    def exists(expected: Expected, repository: str) -> bool | None:
        items = inventory(repository)
        if items is None or expected.level not in items.levels:
            return None
        return items.has(expected, MATCHERS["strict"])

    return exists


def _read_items(path: Path) -> Iterator[Hit]:
    """Read items from a file: a JSON list, JSON lines, or one id per line."""
    with _readable(path):
        if _is_json_list(path):
            try:
                yield from shape.response(read_json(path)).hits
            except ValueError as error:
                raise AssayError(f"{path}: not JSON ({error})") from None
            return
        yield from _read_item_lines(path)


def _read_item_lines(path: Path) -> Iterator[Hit]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            try:
                yield from shape.response([json.loads(line)]).hits
            except (ValueError, RecursionError, AssayError) as error:
                raise AssayError(f"{path}:{number}: {error}") from None
        else:
            yield Hit(line.strip(), symbol=line.strip(), path=line.strip())


def _beir_corpus(golden: Path) -> Path | None:
    folder = golden if golden.is_dir() else golden.parent.parent
    return next((path for path in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if path.exists()), None)


def _beir_ids(path: Path) -> Iterator[str]:
    with _readable(path):
        for number, line in read_lines(path, _LARGEST_CORPUS):
            try:
                yield str(json.loads(line)["_id"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise AssayError(f'{path}:{number}: not a BEIR document (an object with "_id")') from None


def _is_json_list(path: Path) -> bool:
    with open_unpacked(path, _LARGEST_CORPUS) as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert read errors to AssayError."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise AssayError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


Exists = Callable[[Expected, str], bool | None]  # (expectation, repository) → in the corpus? None: unknown


@dataclass(frozen=True, slots=True)
class Lost:
    """An expectation missing from the first k results, and the stage that lost it."""

    query: str
    expected: str
    stage: str
    detail: str


def diagnose(
    queries: Sequence[GoldenQuery],
    responses: Sequence[Response],
    matcher: Matcher,
    level: str,
    k: int,
    exists: Exists = lambda expected, repository: None,
) -> list[Lost]:
    """Return every missed expectation with the stage that lost it."""
    lost = []
    for query, response in zip(queries, responses, strict=True):
        expected = query.at(level)
        rank_by_position = mark(response.hits, expected, matcher).places
        for position, expectation in enumerate(expected):
            rank = rank_by_position.get(position)
            if rank is None or rank > k:
                stage, detail = _locate_loss(
                    expectation, rank, response, matcher, k, exists(expectation, query.repository)
                )
                lost.append(Lost(query.id, expectation.name, stage, detail))
    return lost


def _locate_loss(
    expectation: Expected, rank: int | None, response: Response, matcher: Matcher, k: int, exists: bool | None
) -> tuple[str, str]:
    if exists is False:
        return "absent from the corpus", "no item of this name is indexed; `assay eval verify` suggests the nearest"
    if response.error:
        return "system failed", response.error
    if rank is not None:
        return "ranked low", f"rank {rank}, beyond the first {k}"
    if response.stages:
        return _locate_in_trace(expectation, response, matcher)
    if not response.hits:
        return "empty result", "the system returned nothing"
    return "not returned", f"not among the {len(response.hits)} results; the system returned no trace of its stages"


def _locate_in_trace(expectation: Expected, response: Response, matcher: Matcher) -> tuple[str, str]:
    """Return the first stage after the last one that still had the expectation.

    A trace holds ids only; for hits that were returned, more is known.
    """
    stages, returned = response.stages, {hit.id: hit for hit in response.hits}

    def matches(item: str) -> bool:
        return matcher.matches(returned.get(item) or Hit(item), expectation)

    last, last_rank = -1, 0
    for number, stage in enumerate(stages):
        rank = next((position for position, item in enumerate(stage.items, 1) if matches(item)), 0)
        if rank:
            last, last_rank = number, rank
    for stage in stages[last + 1 :]:
        for item, reason in stage.dropped.items():
            if matches(item):
                return stage.name, reason
    if last < 0:
        return "no channel", f"not retrieved by any of {', '.join(stage.name for stage in stages)}"
    after = stages[last + 1].name if last + 1 < len(stages) else "result"
    return after, f"rank {last_rank} after {stages[last].name}"


def diagnosis_json(lost: Sequence[Lost], queries: int) -> dict[str, Any]:
    counts = Counter(loss.stage for loss in lost)
    return {
        "queries": queries,
        "missed": len(lost),
        "stages": dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        "lost": [asdict(loss) for loss in lost],
    }
