"""Execution of a fuzzing trial, detection of failures, and reduction to the relevant files."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fuzz.trials import Trial
from support import warm_process
from support.command import ENVIRONMENT

MOST_MEMORY = 1_000_000_000  # bytes of any process
HANGS = 100  # seconds of one core for a process; what waits and does nothing is given longer
LIMITS = {resource.RLIMIT_CPU: HANGS, resource.RLIMIT_AS: 6_000_000_000}  # the memory protects the machine
WAITS = 900.0  # seconds for one command, on a busy machine
PATIENCE = 300.0  # seconds for reducing one failure
_STEERS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # what could steer a terminal


@dataclass(frozen=True)
class Failure:
    """A failure and its command; `said` is the tail of the output."""

    what: str
    command: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Outcome:
    """Of one trial: commands run, the most memory of a process, the longest command, and the first failure."""

    commands: int
    peak: int
    longest: float
    failure: Failure | None


def run(trial: Trial, limits: Mapping[int, int] = LIMITS) -> Outcome:
    """Run the steps of a trial in a new folder until one fails."""
    commands, peak, longest = 0, 0, 0.0
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-", ignore_cleanup_errors=True) as folder:
        root = Path(folder, "repository")
        lay_out(trial, root)
        for step in trial.steps:
            began = time.monotonic()
            commands += 1
            try:
                ended = warm_process.run(root, step.arguments, ENVIRONMENT, WAITS, limits=limits)
            except subprocess.TimeoutExpired:
                return Outcome(commands, peak, WAITS, Failure("hang", step.arguments, ""))
            longest, peak = max(longest, time.monotonic() - began), max(peak, ended.peak)
            what = judge(ended, step.codes)
            if not what and step.never and re.search(step.never, ended.out + ended.err, re.MULTILINE):
                what = "a limit of time or memory was exceeded"
            if what:
                said = (ended.out[-300:] + ended.err[-3_000:]).decode("utf-8", "backslashreplace")
                return Outcome(commands, peak, longest, Failure(what, step.arguments, said))
    return Outcome(commands, peak, longest, None)


def judge(ended: warm_process.Ended, codes: frozenset[int]) -> str:
    """Name what is wrong with how a command ended; empty when nothing is."""
    if b"Traceback (most recent call last)" in ended.out + ended.err:
        return "traceback"
    if ended.code in (-signal.SIGXCPU, -signal.SIGKILL):  # the soft limit, and the hard one
        return "hang"
    if ended.code not in codes:
        return f"exit code {ended.code}"
    if ended.peak > MOST_MEMORY:
        return f"{ended.peak / 1e6:,.0f} MB"
    if _STEERS.search(ended.out + ended.err):
        return "raw control characters"
    return ""


def lay_out(trial: Trial, root: Path) -> None:
    """Write the files of a trial, and make the repository where it has a history."""
    if trial.base is not None:
        shutil.copytree(trial.base, root, symlinks=True)
    root.mkdir(parents=True, exist_ok=True)
    if trial.history:
        git = ["git", "-c", "gc.auto=0"]
        subprocess.run([*git, "init", "-q", "-b", "main"], cwd=root, check=True)
        subprocess.run(
            [*git, "fast-import", "--quiet", "--done"], cwd=root, input=trial.history, capture_output=True, check=False
        )
    for files in (trial.others, trial.mutants):
        for path, data in files.items():
            target = root / path
            with contextlib.suppress(OSError):  # a name that this file system does not have
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)


def reduce(trial: Trial, failure: Failure) -> Trial:
    """Leave out halves, quarters, … of the mutants for as long as the same goes wrong."""
    deadline = time.monotonic() + PATIENCE
    limits = LIMITS | {resource.RLIMIT_CPU: HANGS // 4} if failure.what == "hang" else LIMITS
    wanted = tuple(step for step in trial.steps if step.arguments in (failure.command, ("index",)))
    smaller = replace(trial, steps=wanted)
    if not _same(smaller, failure, limits):
        smaller = trial
    pieces = 2
    while len(smaller.mutants) > 1 and time.monotonic() < deadline:
        paths = sorted(smaller.mutants)
        size = -(-len(paths) // pieces)
        for start in range(0, len(paths), size):
            for kept in (paths[start : start + size], paths[:start] + paths[start + size :]):
                tried = replace(smaller, mutants=_only(smaller.mutants, kept))
                if kept and len(kept) < len(paths) and time.monotonic() < deadline and _same(tried, failure, limits):
                    smaller, pieces = tried, 2
                    break
            else:
                continue
            break
        else:
            if size == 1:
                break
            pieces *= 2
    return smaller


def _only(files: Mapping[str, bytes], paths: list[str]) -> dict[str, bytes]:
    return {path: files[path] for path in paths}


def _same(trial: Trial, failure: Failure, limits: Mapping[int, int]) -> bool:
    again = run(trial, limits).failure
    return again is not None and (again.what == failure.what or {again.what, failure.what} <= {"hang", "traceback"})


def keep(trial: Trial, failure: Failure, folder: Path, again: str) -> Path:
    """Save what a failure was reduced to, with how to see it again."""
    place = folder / f"{trial.name}-{re.sub(r'[^a-z0-9]+', '-', failure.what)}"
    shutil.rmtree(place, ignore_errors=True)
    lay_out(trial, place / "repository")
    steps = "\n".join(f"  assay {' '.join(map(repr, step.arguments))}" for step in trial.steps)
    told = (
        f"{failure.what}: assay {' '.join(failure.command)}\n\nin repository/:\n{steps}\n\n{again}\n\n{failure.said}\n"
    )
    (place / "failure.txt").write_bytes(os.fsencode(told))
    return place
