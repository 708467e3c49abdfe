"""Runs: send a golden set's queries to a system, store the responses, judge them.

    golden set × system ──▶ responses, stored every half second ──▶ judged arrays ──▶ summary

Whatever happens to the system, the responses so far are stored. Queries are sent by this process, or by the workers of
a cluster (`fan_out`); sweeps and tunings run in the workers of an executor (`assay.system.executor`).
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from assay import __version__
from assay.core.cautions import as_json, of_golden
from assay.core.golden import COST, LONGEST_HIT_TEXT, GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import Matcher, matcher, path_in
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.sanity import RESULTS_LOOKED_AT, before_run, golden_retrieved, require_names
from assay.evaluate.scores import summarise
from assay.evaluate.systems import System, SystemDied, SystemFailed, is_external, open_system
from assay.git import Git
from assay.text.display import printable

_STORE_INTERVAL = 0.5  # seconds; a killed run loses at most these responses
_STORED_SETTINGS = ("label", "k", "depth", "budget", "repeat", "answers", "corpus")  # of a plan, in the run file
STOP_AFTER = 5  # failures that no chance explains in a system that works at all
FAILURES = "failures"  # status of a run in which every query was sent and the system failed on some
_ORDERING = {
    "ties": "order",
    "group": "",
}  # settings that change a result list, with their defaults; stored with the system
_PER_FILE = 5  # results requested for each of the k files, when they are grouped by file
_MAX_DEATHS_IN_A_ROW = 3  # system deaths before the remaining queries are given up


class Answered(NamedTuple):
    """A query with its response."""

    position: int
    query: GoldenQuery
    response: Response
    unstable: bool  # repeats differed
    died: bool  # the system cannot answer any more


@dataclass(frozen=True, slots=True)
class Plan:
    """Run settings: matcher, result counts, repeats, threads."""

    matching: Matcher
    k: int = 10
    depth: int = 0  # results to request, when more than k
    budget: int | None = None
    repeat: int = 1
    jobs: int = 1
    answers: bool = False  # request written answers, not only hits
    corpus: str = ""  # folder with a repository per sub-folder, if any
    label: str = ""
    ties: str = "order"  # equal scores: "order" as returned, "trec" by id, descending
    group: str = ""  # "file": results of one file count as one, at the rank of the first
    at_once: int = 1  # concurrent runs, which slow each other down
    stop_after: int = STOP_AFTER  # failures with no success before them, after which the run is stopped; 0: never
    max_time: float = 0.0  # seconds for the whole run; 0: no limit


# sends queries at some positions to a system: `query_all`, or a function that does so elsewhere
Ask = Callable[[System, Sequence[GoldenQuery], Sequence[int], Plan], Iterator[Answered]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run and its summary; `died` is the reason the system stopped early."""

    info: RunInfo
    summary: dict[str, Any]
    died: str = ""


def execute(
    golden: GoldenSet,
    system: System,
    store: RunStore,
    plan: Plan,
    root: Path,
    advance: Callable[[], None],
    ask: Ask | None = None,
) -> Outcome:
    """Start a run and send every query to the system, here or by `ask`."""
    system.index()
    config = describe_system(system) | {
        name: getattr(plan, name) for name in _ORDERING if getattr(plan, name) != _ORDERING[name]
    }
    now = datetime.now(UTC)
    identity = hashlib.sha256(repr((golden.digest, sorted(config.items()), plan.matching.name, plan.k)).encode())
    info = RunInfo(
        run_id=f"{now:%Y%m%d-%H%M%S}-{identity.hexdigest()[:6]}",
        created=now.isoformat(timespec="seconds"),
        golden_hash=golden.digest,
        system=system.name,
        config=config,
        matching=plan.matching.name,
        level=plan.matching.level_for(golden),
        **{name: getattr(plan, name) for name in _STORED_SETTINGS},
        index_fingerprint=str(config.get("index_fingerprint", "")),
        chunker_version=_chunker_version(config),
        versions={"assay": __version__, "python": platform.python_version(), "numpy": np.__version__},
        environment=_environment(root) | ({"runs_at_once": plan.at_once} if plan.at_once > 1 else {}),
        warnings=[*of_golden(golden), *before_run(golden, system, root, plan.corpus)],
    )
    positions = range(len(golden.queries))
    return _execute_queries(golden, system, store, plan, store.start(info, golden), positions, advance, ask, root)


def reopen_system(info: RunInfo, spec: str | None, root: Path, corpus: Path | None, timeout: float) -> System:
    """Open the system of a run again; `spec` and `corpus` are what the user named.

    The store may be a stranger's: what it names is started only if the user names it, too. Raise AssayError otherwise.
    """
    if spec is None and is_external(info.system):
        raise AssayError(
            printable(f"run {info.run_id} used {info.system}; to use it again, name it: {resume_command(info)}")
        )
    if spec is not None and spec.strip() != info.system:
        raise AssayError(
            printable(f"run {info.run_id} used {info.system}, not {spec}: leave out --system, or repeat it")
        )
    corpus_path = corpus or (Path(info.corpus) if info.corpus else None)
    if corpus is None and corpus_path is not None and not corpus_path.resolve().is_relative_to(root.resolve()):
        raise AssayError(
            printable(f"run {info.run_id} used the corpus {info.corpus}; to resume there, repeat --corpus")
        )
    return open_system(info.system, timeout=timeout, root=root, corpus=corpus_path)


def resume_command(info: RunInfo) -> str:
    """Return the command that resumes a run."""
    system_option = f" --system {shlex.quote(info.system)}" if is_external(info.system) else ""
    return f"assay eval run --resume {info.run_id}{system_option}"


def resume(
    info: RunInfo,
    system: System,
    store: RunStore,
    jobs: int,
    advance: Callable[[], None],
    stop_after: int = 0,
    max_time: float = 0.0,
    ask: Ask | None = None,
    root: Path = Path(),
) -> Outcome:
    """Send the unanswered and failed queries of an interrupted run.

    Raise SystemDied when the system changed since.
    """
    golden = store.golden(info)
    system.index()
    changed = sorted(fact for fact, value in describe_system(system).items() if info.config.get(fact) != value)
    if changed:
        raise SystemDied(
            f"run {info.run_id} was made with another state of {info.system}: {', '.join(changed)} changed since. Start a new run."
        )
    successful = {position for position, succeeded in store.answered(info.run_id).items() if succeeded}
    remaining = [position for position in range(len(golden.queries)) if position not in successful]
    plan = Plan(matcher(info.matching), info.k, info.depth, info.budget, info.repeat, jobs, info.answers)
    ordering = {name: info.config.get(name, default) for name, default in _ORDERING.items()}
    plan = replace(plan, stop_after=stop_after, max_time=max_time, **ordering)
    return _execute_queries(golden, system, store, plan, info, remaining, advance, ask, root)


def _execute_queries(
    golden: GoldenSet,
    system: System,
    store: RunStore,
    plan: Plan,
    info: RunInfo,
    positions: Sequence[int],
    advance: Callable[[], None],
    ask: Ask | None,
    root: Path,
) -> Outcome:
    store.update(info.run_id, status="running")
    stored_at, pending, died = time.monotonic(), list[tuple[int, str, Response, bool]](), ""
    guard = _Guard(golden, plan, info.level)
    try:
        for answered in (ask or query_all)(system, golden.queries, positions, plan):
            pending.append((answered.position, answered.query.id, answered.response, answered.unstable))
            advance()
            if died := guard.reason_to_stop(answered):
                break
            if time.monotonic() - stored_at > _STORE_INTERVAL:
                store.record(info.run_id, pending)
                pending, stored_at = [], time.monotonic()
        guard.check_names()
    finally:
        store.record(info.run_id, pending)
        store.update(info.run_id, status="incomplete", finished=datetime.now(UTC).isoformat(timespec="seconds"))
    return _finish_run(golden, store, plan, info, died, root)


class _Guard:
    """Watches the responses of a run for reasons to stop it."""

    def __init__(self, golden: GoldenSet, plan: Plan, level: str) -> None:
        self._golden, self._plan, self._level = golden, plan, level
        self._deadline = time.monotonic() + plan.max_time if plan.max_time else math.inf
        self._deaths = self._failures = 0
        self._succeeded = False
        self._unmatched: list[Hit] | None = []  # results so far, while none matched
        self._lists = 0

    def reason_to_stop(self, answered: Answered) -> str:
        """Return why the run cannot go on; empty when it can. Raise WrongShape when nothing can ever match."""
        error = answered.response.error
        self._deaths = self._deaths + 1 if answered.died else 0
        self._succeeded = self._succeeded or not error
        self._failures += bool(error)
        self._note_hits(answered)
        if self._deaths >= _MAX_DEATHS_IN_A_ROW:
            return error
        if self._plan.stop_after and not self._succeeded and self._failures >= self._plan.stop_after:
            return f"stopped: the system failed on each of the first {self._failures} queries; the last error: {error}"
        if time.monotonic() > self._deadline:
            return f"stopped: the time limit of {self._plan.max_time:g} s (--max-time) is over"
        return ""

    def check_names(self) -> None:
        """Raise WrongShape when no result so far has the names that the matcher judges."""
        if self._unmatched:
            require_names(self._golden, self._plan.matching, self._level, self._unmatched)

    def _note_hits(self, answered: Answered) -> None:
        expected, hits = answered.query.at(self._level), answered.response.hits
        if self._unmatched is None or not expected or not hits:
            return
        if any(self._plan.matching.matches(hit, item) for hit in hits for item in expected):
            self._unmatched = None
            return
        self._unmatched += hits
        self._lists += 1
        if self._lists == RESULTS_LOOKED_AT:
            self.check_names()
            self._unmatched = None


def _finish_run(golden: GoldenSet, store: RunStore, plan: Plan, info: RunInfo, died: str, root: Path) -> Outcome:
    """Judge the responses and store the run's status, configuration and summary."""
    answered = store.answered(info.run_id)
    asked_all = len(answered) == len(golden.queries) and not died
    responses = store.responses(info.run_id, len(golden.queries))
    judged = judge(golden.queries, responses, plan.matching, info.level)
    warnings = list(dict.fromkeys([*info.warnings, *golden_retrieved(golden, responses, root, info.corpus)]))
    store.save_judged(info.run_id, info.matching, judged)
    config = _common_facts(response.config for response in responses) | info.config
    store.update(
        info.run_id,
        status=("complete" if all(answered.values()) else FAILURES) if asked_all else "incomplete",
        config=config,
        chunker_version=_chunker_version(config),
        warnings=as_json(warnings),
    )
    info = store.info(info.run_id)
    summary = summarise(info, golden, responses, judged)
    store.update(info.run_id, aggregate_json=summary)
    return Outcome(info, summary, died)


def query_all(
    system: System, queries: Sequence[GoldenQuery] | Mapping[int, GoldenQuery], positions: Sequence[int], plan: Plan
) -> Iterator[Answered]:
    """Yield each response as it arrives, on several threads if the system allows it; order does not matter."""
    if plan.jobs == 1 or not system.concurrent:
        for position in positions:
            yield _query_system(system, position, queries[position], plan)
        return
    with ThreadPoolExecutor(plan.jobs) as pool:
        remaining = iter(positions)
        running: set[Future[Answered]] = set()
        try:
            while True:
                for position in remaining:
                    running.add(pool.submit(_query_system, system, position, queries[position], plan))
                    if len(running) >= plan.jobs * 2:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in running:
                future.cancel()


def _query_system(system: System, position: int, query: GoldenQuery, plan: Plan) -> Answered:
    """Send one query as often as planned.

    The first response counts, the latency is the median, and differing repeats are noted.
    """
    send = system.answer if plan.answers else system.retrieve
    requested = max(plan.k, plan.depth) * (_PER_FILE if plan.group == "file" else 1)
    responses: list[Response] = []
    died = False
    for _ in range(plan.repeat):
        start = time.perf_counter()
        try:
            system.reset()
            responses.append(send(query.text, requested, plan.budget, query.repository, query.id))
        except SystemFailed as error:
            elapsed_ms = (time.perf_counter() - start) * 1000
            responses.append(Response(error=str(error), latency_ms=elapsed_ms))
            died = died or isinstance(error, SystemDied)
    unstable = any(
        [hit.id for hit in repeat.hits] != [hit.id for hit in responses[0].hits] or repeat.answer != responses[0].answer
        for repeat in responses[1:]
    )
    latency = statistics.median(response.latency_ms for response in responses)
    hits = _sort_like_trec(responses[0].hits) if plan.ties == "trec" else responses[0].hits
    hits = group_by_file(hits)[: max(plan.k, plan.depth)] if plan.group == "file" else hits
    return Answered(position, query, replace(responses[0], hits=hits, latency_ms=round(latency, 3)), unstable, died)


def group_by_file(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return a hit per file, at the place of its first one, with the tokens and texts of all; others stay as they are."""
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.path or path_in(hit.id) or hit.document, []).append(hit)
    grouped = []
    for path, members in groups.items():
        text = "\n".join(hit.text for hit in members if hit.text)[:LONGEST_HIT_TEXT]
        tokens = sum(hit.tokens for hit in members)
        doc, score = members[0].doc, members[0].score
        grouped.append(Hit(path, path=path, doc=doc, score=score, tokens=tokens, text=text))
    return tuple(grouped)


def _sort_like_trec(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Sort by score, then by id, both descending, like trec_eval; hits without score go last."""
    return tuple(sorted(hits, key=lambda hit: (-math.inf if hit.score is None else hit.score, hit.id), reverse=True))


def describe_system(system: System) -> dict[str, Any]:
    """Return a system's self-description as it will be read back from the run file."""
    description: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(system.describe(), enc_hook=str))
    return description


def _common_facts(configs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the system facts in the responses (such as a chunker version) that never contradict each other."""
    facts: dict[str, Any] = {}
    varying = set()
    for config in configs:
        for fact, value in config.items():
            if fact == COST:  # of the query, not of the system
                continue
            if facts.setdefault(fact, value) != value:
                varying.add(fact)
    return {fact: value for fact, value in sorted(facts.items()) if fact not in varying}


def _chunker_version(config: Mapping[str, Any]) -> str:
    """Return the chunker version from the system's description or its settings."""
    settings = config.get("config")
    return str(
        config.get("chunker_version") or (settings.get("chunker_version") if isinstance(settings, dict) else "") or ""
    )


def _environment(root: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {"platform": sys.platform, "machine": platform.machine(), "cpus": os.cpu_count()}
    with contextlib.suppress(AssayError):  # no git, or it does not trust the folder
        if commit := Git(root).revision("HEAD"):
            facts["commit"] = commit
    return facts
