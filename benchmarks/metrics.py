"""Speed of the metrics, compared with pytrec_eval and, where installed, ir_measures and ranx; checks that all agree.

    python benchmarks/metrics.py [--sizes 1000x100 10000x100 10000x1000] [--repeat N] [--json FILE]

Prints markdown. Every contestant sees the same synthetic data (20 judged documents per query, grades 0 to 3, distinct scores) and
computes nDCG@10, AP, RR, R@10 and P@10 for every query. Times are CPU seconds of this process on one thread, the best of N rounds in
which the contestants take turns, after one small warm-up round. Rows "from dicts" start from {query: {document: score}}; "stored run"
opens a run file and reads its judged arrays; "judged arrays" has them in memory. Those two neither sort nor join: that happened when
the run was stored, which is why runs are stored so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenSet
from assay.evaluate import metrics as dicts
from assay.evaluate.judging import Judged
from assay.evaluate.metrics import parse
from assay.evaluate.runs import RunInfo, RunStore

MEASURES = ("nDCG@10", "AP", "RR", "R@10", "P@10")
REFERENCE = "pytrec_eval"
BUDGETS = {"assay, from dicts": 1.0, "assay, from a stored run": 10.0}  # times as fast as the reference
IMPORT_BUDGET = 0.15
EQUAL = 1e-9

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Values = dict[str, dict[str, float]]
Contestant = Callable[[Qrels, Run, Path], tuple[Callable[[], Any], Callable[[Any], Values]]]


def synthetic(queries: int, hits: int, seed: int = 7) -> tuple[Qrels, Run]:
    """Graded judgements, twelve of the twenty among the results, and scores that differ in 32 bits too."""
    generator = random.Random(seed)
    pool = [f"d{number}" for number in range(max(20 * hits, 20_000))]
    qrels: Qrels = {}
    run: Run = {}
    for number in range(queries):
        found = generator.sample(pool, hits)
        judged = generator.sample(found, 12) + generator.sample(pool, 8)
        qrels[f"q{number}"] = {document: generator.choice((0, 0, 1, 1, 2, 3)) for document in judged}
        scores = [(place + 1) / 1024 for place in range(hits)]
        generator.shuffle(scores)
        run[f"q{number}"] = dict(zip(found, scores, strict=True))
    return qrels, run


# contestants: from the data, what is timed, and how its result is read


def assay_dicts(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    return lambda: dicts.evaluate(qrels, run, MEASURES), lambda values: values


def assay_stored(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    path = folder / f"{len(qrels)}.db"
    info = RunInfo("benchmark", "2025-01-01", "0", "synthetic", "doc", "doc", 10)
    with RunStore.open(path, write=True) as store:
        store.start(info, GoldenSet((), "", "trec", "0"))
        store.save_judged(info.run_id, "doc", dicts.judge(qrels, run))

    def read() -> tuple[Judged, list[Any]]:
        with RunStore.open(path) as opened:
            judged = opened.judged(opened.info(info.run_id))
        return judged, _figures(judged)

    return read, lambda both: _by_query(*both)


def assay_arrays(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    judged = dicts.judge(qrels, run)
    return lambda: _figures(judged), lambda figures: _by_query(judged, figures)


def _figures(judged: Judged) -> list[Any]:
    return [parse(name).values(judged) for name in MEASURES]


def _by_query(judged: Judged, figures: list[Any]) -> Values:
    """As trec_eval has it: 0 where nothing is relevant."""
    rows = ([0.0 if value != value else value for value in column.tolist()] for column in figures)
    return {name: dict(zip(judged.queries, row, strict=True)) for name, row in zip(MEASURES, rows, strict=True)}


def pytrec_eval(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    library = importlib.import_module("pytrec_eval")
    wanted = {"ndcg_cut.10", "map", "recip_rank", "recall.10", "P.10"}
    names = dict(zip(MEASURES, ("ndcg_cut_10", "map", "recip_rank", "recall_10", "P_10"), strict=True))
    return (
        lambda: library.RelevanceEvaluator(qrels, wanted).evaluate(run),
        lambda raw: {name: {query: row[theirs] for query, row in raw.items()} for name, theirs in names.items()},
    )


def ir_measures(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    library = importlib.import_module("ir_measures")
    measures = [library.parse_measure(name) for name in MEASURES]

    def values(rows: list[Any]) -> Values:
        out: Values = {name: {} for name in MEASURES}
        for row in rows:
            out[str(row.measure)][row.query_id] = row.value
        return out

    return lambda: list(library.evaluator(measures, qrels).iter_calc(run)), values


def ranx(qrels: Qrels, run: Run, folder: Path) -> tuple[Callable[[], Any], Callable[[Any], Values]]:
    library = importlib.import_module("ranx")
    names = dict(zip(MEASURES, ("ndcg@10", "map", "mrr", "recall@10", "precision@10"), strict=True))
    options = {"return_mean": False, "threads": 1, "save_results_in_run": False}

    def evaluate() -> tuple[list[str], dict[str, Any]]:
        theirs = library.Run(run)
        return theirs.get_query_ids(), library.evaluate(library.Qrels(qrels), theirs, list(names.values()), **options)

    return evaluate, lambda both: {
        name: dict(zip(both[0], map(float, both[1][theirs]), strict=True)) for name, theirs in names.items()
    }


CONTESTANTS: dict[str, Contestant] = {
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
    "assay, from dicts": assay_dicts,
    "assay, from a stored run": assay_stored,
    "assay, from judged arrays": assay_arrays,
}


def available() -> dict[str, Contestant]:
    """Ours, and those of the others that are installed."""
    return {name: one for name, one in CONTESTANTS.items() if name.startswith("assay") or _importable(name)}


def _importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def measure(size: str, repeat: int) -> list[dict[str, Any]]:
    """One row per contestant: best CPU seconds, million hits per second, speed and largest difference against the reference."""
    queries, hits = map(int, size.split("x"))
    contestants = available()
    with tempfile.TemporaryDirectory() as folder:
        for prepare in contestants.values():
            prepare(*synthetic(12, 20), Path(folder))[0]()
        data = synthetic(queries, hits)
        ready = {name: prepare(*data, Path(folder)) for name, prepare in contestants.items()}
        best = dict.fromkeys(ready, float("inf"))
        values: dict[str, Values] = {}
        for _ in range(repeat):
            for name, (work, read) in ready.items():
                started = time.process_time()
                result = work()
                best[name] = min(best[name], time.process_time() - started)
                if name not in values:
                    values[name] = read(result)
                del result
    return [
        {
            "size": size,
            "name": name,
            "cpu_seconds": seconds,
            "million_hits_per_second": queries * hits / seconds / 1e6,
            "times_as_fast": best[REFERENCE] / seconds,
            "largest_difference": _largest_difference(values[name], values[REFERENCE]),
        }
        for name, seconds in best.items()
    ]


def _largest_difference(some: Values, others: Values) -> float:
    return max(abs(some[name][query] - value) for name, row in others.items() for query, value in row.items())


def import_seconds(module: str, repeat: int) -> float:
    """Seconds until a module is imported in a fresh process, interpreter start not counted; median of N."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(repeat)
    )
    return statistics.median(float(done.stdout) for done in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1000x100", "10000x100"], metavar="QUERIESxHITS")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the result here")
    arguments = parser.parse_args()
    if REFERENCE not in available():
        parser.exit(2, f"{REFERENCE} is what we compare with: pip install pytrec-eval-terrier\n")

    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"Measured on {machine}; best of {arguments.repeat}, CPU seconds, {', '.join(MEASURES)} for every query.\n")
    print("| queries x hits | | CPU s | M hits/s | times pytrec_eval | largest difference | |")
    print("|---|---|--:|--:|--:|--:|---|", flush=True)
    rows = []
    for size in arguments.sizes:
        for row in measure(size, arguments.repeat):
            rows.append(row)
            budget = BUDGETS.get(row["name"])
            kept = "" if budget is None else f"at least {budget:g}: {_verdict(row['times_as_fast'] >= budget)}"
            print(
                f"| {size} | {row['name']} | {row['cpu_seconds']:.4f} | {row['million_hits_per_second']:.1f} "
                f"| {row['times_as_fast']:.2f} | {row['largest_difference']:.0e} | {kept} |",
                flush=True,
            )
    importing, numpy = (import_seconds(module, 10) for module in ("assay.evaluate.metrics", "numpy"))
    agreed = max(row["largest_difference"] for row in rows) <= EQUAL
    print(f"\nImport of assay.evaluate.metrics in a fresh process: {importing * 1000:.0f} ms, ", end="")
    print(
        f"{numpy * 1000:.0f} of them numpy's; at most {IMPORT_BUDGET * 1000:.0f}: {_verdict(importing <= IMPORT_BUDGET)}"
    )
    print(f"Every value of every query equal to {EQUAL:.0e}: {'yes' if agreed else 'NO'}")
    if arguments.json:
        result = {"machine": machine, "import_seconds": importing, "import_numpy_seconds": numpy, "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


def _verdict(kept: bool) -> str:
    return "kept" if kept else "MISSED"


if __name__ == "__main__":
    main()
