"""Running a golden set against a system: ask, store, judge. Whatever happens to the system, what was answered is kept."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import platform
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
from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.judging import judge
from assay.evaluate.matching import Matcher, matcher
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.summary import summarise
from assay.evaluate.systems.protocol import System, SystemDied, SystemFailed
from assay.git import Git

_KEEP_EVERY = 0.5  # seconds of answers a killed run may lose
_DEATHS = 3  # in a row before the rest of the queries is given up


class Answered(NamedTuple):
    """One query, answered."""

    position: int
    query: GoldenQuery
    response: Response
    unstable: bool  # repeats differed
    died: bool  # the system said that it cannot be asked any more


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run: the matcher to judge with, how many results to ask for, how often, and on how many threads."""

    matching: Matcher
    k: int = 10
    depth: int = 0  # results to ask for, when more than k
    budget: int | None = None
    repeat: int = 1
    jobs: int = 1
    answers: bool = False  # ask for written answers
    corpus: str = ""  # the folder with one repository in each sub-folder, where there is one
    label: str = ""
    ties: str = "order"  # equal scores stay as the system listed them, or with `trec` go by id, descending
    at_once: int = 1  # runs that are made at the same time, which makes each slower


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run after it ended, and what it amounts to; `died` says why the system could not be asked to the end."""

    info: RunInfo
    summary: dict[str, Any]
    died: str = ""


def execute(
    golden: GoldenSet, system: System, store: RunStore, plan: Plan, root: Path, advance: Callable[[], None]
) -> Outcome:
    """Starts a run and asks the system everything."""
    system.index()
    config = described(system) | ({"ties": plan.ties} if plan.ties != "order" else {})
    now = datetime.now(UTC)
    identity = hashlib.sha256(repr((golden.digest, sorted(config.items()), plan.matching.name, plan.k)).encode())
    info = RunInfo(
        run_id=f"{now:%Y%m%d-%H%M%S}-{identity.hexdigest()[:6]}",
        created=now.isoformat(timespec="seconds"),
        label=plan.label,
        golden_hash=golden.digest,
        system=system.name,
        config=config,
        matching=plan.matching.name,
        level=plan.matching.level_for(golden),
        k=plan.k,
        depth=plan.depth,
        budget=plan.budget,
        repeat=plan.repeat,
        answers=plan.answers,
        corpus=plan.corpus,
        index_fingerprint=str(config.get("index_fingerprint", "")),
        chunker_version=_chunker_version(config),
        versions={"assay": __version__, "python": platform.python_version(), "numpy": np.__version__},
        environment=_environment(root) | ({"runs_at_once": plan.at_once} if plan.at_once > 1 else {}),
        warnings=[*golden.warnings, *_warnings(golden, system, Path(plan.corpus or root))],
    )
    return _ask_all(golden, system, store, plan, store.start(info, golden), range(len(golden.queries)), advance)


def resume(info: RunInfo, system: System, store: RunStore, jobs: int, advance: Callable[[], None]) -> Outcome:
    """Asks what an interrupted run has not answered yet, and what failed."""
    golden = store.golden(info)
    system.index()
    changed = sorted(fact for fact, value in described(system).items() if info.config.get(fact) != value)
    if changed:
        raise SystemDied(
            f"run {info.run_id} was made with another state of {info.system}: {', '.join(changed)} changed since. Start a new run."
        )
    good = {position for position, fine in store.answered(info.run_id).items() if fine}
    left = [position for position in range(len(golden.queries)) if position not in good]
    plan = Plan(matcher(info.matching), info.k, info.depth, info.budget, info.repeat, jobs, info.answers)
    plan = replace(plan, ties=info.config.get("ties", "order"))
    return _ask_all(golden, system, store, plan, info, left, advance)


def _ask_all(
    golden: GoldenSet,
    system: System,
    store: RunStore,
    plan: Plan,
    info: RunInfo,
    positions: Sequence[int],
    advance: Callable[[], None],
) -> Outcome:
    store.update(info.run_id, status="running")
    kept, waiting, died, deaths = time.monotonic(), list[tuple[int, str, Response, bool]](), "", 0
    try:
        for one in _answers(system, golden.queries, positions, plan):
            waiting.append((one.position, one.query.id, one.response, one.unstable))
            advance()
            deaths = deaths + 1 if one.died else 0
            if deaths >= _DEATHS:
                died = one.response.error
                break
            if time.monotonic() - kept > _KEEP_EVERY:
                store.record(info.run_id, waiting)
                waiting, kept = [], time.monotonic()
    finally:
        store.record(info.run_id, waiting)
        store.update(info.run_id, status="incomplete", finished=datetime.now(UTC).isoformat(timespec="seconds"))
    return _judged(golden, store, plan, info, died)


def _judged(golden: GoldenSet, store: RunStore, plan: Plan, info: RunInfo, died: str) -> Outcome:
    """Judges what was answered and stores what the run amounts to."""
    complete = len(store.answered(info.run_id)) == len(golden.queries) and not died
    responses = store.responses(info.run_id, len(golden.queries))
    judged = judge(golden.queries, responses, plan.matching, info.level)
    store.save_judged(info.run_id, info.matching, judged)
    config = _said(response.config for response in responses) | info.config
    store.update(
        info.run_id,
        status="complete" if complete else "incomplete",
        config=config,
        chunker_version=_chunker_version(config),
    )
    info = store.info(info.run_id)
    summary = summarise(info, golden, judged)
    store.update(info.run_id, aggregate_json=summary)
    return Outcome(info, summary, died)


def _answers(
    system: System, queries: Sequence[GoldenQuery], positions: Sequence[int], plan: Plan
) -> Iterator[Answered]:
    """Every answer as it comes. On several threads only if the system allows it; the order does not matter, they are stored by position."""
    if plan.jobs == 1 or not system.concurrent:
        for position in positions:
            yield _ask(system, position, queries[position], plan)
        return
    with ThreadPoolExecutor(plan.jobs) as pool:
        left = iter(positions)
        running: set[Future[Answered]] = set()
        try:
            while True:
                for position in left:
                    running.add(pool.submit(_ask, system, position, queries[position], plan))
                    if len(running) >= plan.jobs * 2:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in running:
                future.cancel()


def _ask(system: System, position: int, query: GoldenQuery, plan: Plan) -> Answered:
    """One query, as often as asked for: the first answer counts, the latency is the median, and differing answers are noted."""
    ask = system.answer if plan.answers else system.retrieve
    found: list[Response] = []
    died = False
    for _ in range(plan.repeat):
        started = time.perf_counter()
        try:
            system.reset()
            found.append(ask(query.text, max(plan.k, plan.depth), plan.budget, query.repository, query.id))
        except SystemFailed as error:
            spent = (time.perf_counter() - started) * 1000
            found.append(Response(error=str(error), latency_ms=spent))
            died = died or isinstance(error, SystemDied)
    unstable = any(
        [h.id for h in one.hits] != [h.id for h in found[0].hits] or one.answer != found[0].answer for one in found[1:]
    )
    latency = statistics.median(response.latency_ms for response in found)
    hits = _as_trec(found[0].hits) if plan.ties == "trec" else found[0].hits
    return Answered(position, query, replace(found[0], hits=hits, latency_ms=round(latency, 3)), unstable, died)


def _as_trec(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """By score, then by id, both descending, as trec_eval sorts; what has no score stands last."""
    return tuple(sorted(hits, key=lambda hit: (-math.inf if hit.score is None else hit.score, hit.id), reverse=True))


def described(system: System) -> dict[str, Any]:
    """What a system says of itself, as it will be read back from the run file."""
    said: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(system.describe(), enc_hook=str))
    return said


def _said(configs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the answers say of the system, a chunker version for example: the facts that every answer which has them agrees on."""
    said: dict[str, Any] = {}
    varying = set()
    for config in configs:
        for fact, value in config.items():
            if said.setdefault(fact, value) != value:
                varying.add(fact)
    return {fact: value for fact, value in sorted(said.items()) if fact not in varying}


def _chunker_version(config: Mapping[str, Any]) -> str:
    """Said by the system at the top, or among its own settings."""
    own = config.get("config")
    return str(config.get("chunker_version") or (own.get("chunker_version") if isinstance(own, dict) else "") or "")


def _warnings(golden: GoldenSet, system: System, searched: Path) -> list[str]:
    path = Path(golden.path).resolve()
    holds = getattr(system, "holds", None)
    if holds is not None:
        inside = bool(holds(path))
    else:
        inside = path.is_relative_to(searched.resolve()) and system.name.startswith("cmd:")
    if not inside:
        return []
    return [f"the golden set {golden.path} lies inside the corpus that is searched: its own text may be found"]


def _environment(root: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {"platform": sys.platform, "machine": platform.machine(), "cpus": os.cpu_count()}
    with contextlib.suppress(AssayError):  # no git, or it does not trust the folder
        if commit := Git(root).revision("HEAD"):
            facts["commit"] = commit
    return facts
