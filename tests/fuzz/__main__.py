"""`make fuzz`: property tests with random examples, then trials until the limit of time or files.

    python -m fuzz [--minutes 30] [--files 50000] [--seed N] [--kinds repository,golden] [--without .kt] [--trial N]

Exit code 1 when anything failed. A seed gives the same trials again; what failed is kept, reduced, in a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from support.environment import isolate

HERE = Path(__file__).parents[1]
SIZE = 500  # files of a repository
_TO_SUMMARISE = 60.0  # seconds for pytest to end and print, after it was interrupted


@dataclass
class Tally:
    """Counts and failures so far."""

    files: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    peak: int = 0
    longest: float = 0.0
    failures: list[str] = field(default_factory=list)


def main() -> int:
    home, began, tally = isolate(), time.monotonic(), Tally()
    options = _options()
    print(f"seed {options.seed}: the same again with SEED={options.seed}", flush=True)
    try:
        if options.laws and options.trial is None:
            _try_laws(options.seed, options.minutes * 60 / 4, tally)
        with tempfile.TemporaryDirectory(prefix="assay-fuzz-") as scratch:
            _try_repositories(options, began + options.minutes * 60, Path(scratch), tally)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    _summarise(tally, time.monotonic() - began)
    return 1 if tally.failures else 0


def _options() -> argparse.Namespace:
    from fuzz.trials import KINDS

    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="stop beginning trials after so long")
    parser.add_argument(
        "--files", type=int, default=0, help="stop after so many mutated files; 0: only the time counts"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--without", default="", help="suffixes to leave out, such as .kt,.cpp")
    parser.add_argument("--size", type=int, default=SIZE, help="files of a repository")
    parser.add_argument("--jobs", type=int, default=max(1, len(os.sched_getaffinity(0))))
    parser.add_argument("--trial", type=int, help="only this one")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="where to save what failed")
    parser.add_argument("--no-laws", dest="laws", action="store_false", help="without the property tests")
    options = parser.parse_args()
    options.keep = options.keep.absolute()
    return options


def _try_laws(seed: int, seconds: float, tally: Tally) -> None:
    """Run the property tests with random examples for a share of the time."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "auto",
        "--dist",
        "worksteal",
        "-m",
        "hypothesis",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--hypothesis-profile", "fuzz", f"--hypothesis-seed={seed}", str(HERE)]
    print(f"laws: {' '.join(command[1:])}", flush=True)
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, cwd=HERE.parent, start_new_session=True, stdout=out, stderr=out)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"laws: stopped after {seconds:,.0f} s", flush=True)
            os.killpg(process.pid, signal.SIGINT)  # pytest then prints what failed so far
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TO_SUMMARISE)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = 0
        out.seek(0)
        text = out.read()
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    print(text, flush=True)
    if code or failed:
        tally.failures.append(f"laws: {', '.join(failed) or f'exit code {code}'}, see above")


def _try_repositories(options: argparse.Namespace, deadline: float, scratch: Path, tally: Tally) -> None:
    """Run trials at once until the time is over, keep what failed."""
    from fuzz import running, trials
    from support import warm_process

    kinds, without = tuple(options.kinds.split(",")), frozenset(filter(None, options.without.split(",")))
    warm_process.start()

    def attempt(number: int) -> tuple[trials.Trial, running.Outcome, float]:
        began = time.monotonic()
        made = trials.trial(options.seed, number, scratch, options.size, kinds, without)
        return made, running.run(made), time.monotonic() - began

    number, waiting = options.trial or 0, set[Future[tuple[trials.Trial, running.Outcome, float]]]()
    with ThreadPoolExecutor(options.jobs) as pool:
        while True:
            enough = time.monotonic() > deadline or 0 < options.files <= sum(tally.files.values())
            while not enough and len(waiting) < options.jobs and (options.trial in (None, number)):
                waiting.add(pool.submit(attempt, number))
                number += 1
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                made, outcome, seconds = future.result()
                tally.files[made.name.partition("-")[0]] += len(made.mutants)
                tally.commands += outcome.commands
                tally.peak, tally.longest = max(tally.peak, outcome.peak), max(tally.longest, outcome.longest)
                print(
                    f"{made.name}: {len(made.mutants)} files, {outcome.commands} commands in {seconds:.1f} s, peak {outcome.peak / 1e6:,.0f} MB"
                    + (
                        f", {outcome.failure.what.upper()}: assay {outcome.failure.command[0]}"
                        if outcome.failure
                        else ""
                    ),
                    flush=True,
                )
                if outcome.failure:
                    same = f"--trial {made.name.rpartition('-')[2]} --size {options.size} --kinds {options.kinds}"
                    again = f"make fuzz SEED={options.seed} FUZZ_OPTIONS='{same}'"
                    place = running.keep(running.reduce(made, outcome.failure), outcome.failure, options.keep, again)
                    tally.failures.append(f"{made.name}: {outcome.failure.what}, kept in {place}; again with: {again}")
                    print(f"  kept in {place}", flush=True)


def _summarise(tally: Tally, seconds: float) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in tally.files.most_common())
    print(
        f"\n{sum(tally.files.values()):,} mutated files ({kinds}), {tally.commands:,} commands in {seconds / 60:.1f} minutes"
    )
    counts = {name: sum(f": {name}" in failure for failure in tally.failures) for name in ("traceback", "hang")}
    print(
        f"tracebacks {counts['traceback']}, hangs {counts['hang']}, other failures {len(tally.failures) - sum(counts.values())}"
    )
    print(f"most memory of a process {tally.peak / 1e6:,.0f} MB, longest command {tally.longest:.1f} s")
    for failure in tally.failures:
        print(f"  {failure}")


if __name__ == "__main__":
    sys.exit(main())
