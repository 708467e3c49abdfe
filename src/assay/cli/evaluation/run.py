"""`assay eval run`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assay.cli.common import Bar, echo, find_root, format_option, print_json
from assay.cli.evaluation.common import (
    columns,
    corpus_option,
    cutoff_option,
    echo_warnings,
    figure,
    kept_at,
    measures_option,
    parsed,
    root_option,
    run_store,
    runs_option,
    shortened,
    system_option,
    timeout_option,
)
from assay.core.golden import GoldenSet
from assay.errors import AssayError
from assay.evaluate import golden as golden_sets
from assay.evaluate.matching import matcher_for
from assay.evaluate.metrics.measures import Measure, parse
from assay.evaluate.run import Outcome, Plan, execute, resume
from assay.evaluate.runs import RunInfo, RunStore
from assay.evaluate.summary import listed, main_measures, told
from assay.evaluate.systems import System, open_system, reaches_out
from assay.evaluate.verify import cross_repo_findings, findings
from assay.text.display import printable

_TASK = 50  # characters of a task in the table
_FAILED_SHOWN = 5
_UNSTABLE_SHOWN = 5


@click.command("run")
@click.option(
    "--golden",
    "golden_path",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set: a file or a folder, any format.",
)
@system_option
@click.option(
    "--matching",
    metavar="NAME",
    help="What counts as found: exact, symbol, dotted, strict, file, doc, chunk, span. Default: by the set.",
)
@cutoff_option
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=None,
    help="Ask for more results than k, for measures without cut-off and diagnosis.",
)
@click.option("--budget", type=click.IntRange(min=1), help="A token budget to hand to the system.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Ask everything so often: the median latency counts, and answers that differ are named.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Queries asked at once, where the system allows it.",
)
@click.option(
    "--ties",
    type=click.Choice(["order", "trec"]),
    default="order",
    show_default=True,
    help="Equal scores: in the order of the system, or by id as trec_eval does.",
)
@timeout_option
@click.option("--answers", is_flag=True, help="Ask for written answers, too.")
@corpus_option
@click.option("--label", default="", metavar="NAME", help="A name for the run, to find it by later.")
@click.option(
    "--resume",
    "resumed",
    metavar="RUN",
    help="Go on with an interrupted run; what failed is asked again. A command, module or address must be named again with --system.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to save results.json and FINDINGS.md. Default: .assay/runs/RUN.",
)
@click.option(
    "--findings",
    "findings_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write FINDINGS.md here as well, to commit it.",
)
@measures_option
@root_option
@runs_option
@format_option
def run_command(
    golden_path: Path | None,
    spec: str,
    matching: str | None,
    k: int,
    depth: int | None,
    budget: int | None,
    repeat: int,
    jobs: int,
    ties: str,
    timeout: float,
    answers: bool,
    corpus: Path | None,
    label: str,
    resumed: str | None,
    output: Path | None,
    findings_file: Path | None,
    measures: tuple[str, ...],
    root: Path | None,
    runs_file: Path | None,
    form: str,
) -> None:
    """Ask a system every query of a golden set and say how well it did.

    Errors, timeouts and empty results are recorded, score 0 and are never dropped. Answers are stored as they come: a run that was
    killed goes on with --resume. Exit code 1 when the system failed on some query, 2 when it could not be asked to the end.
    """
    where, chosen = find_root(root), parsed(measures)
    if resumed and golden_path:
        raise AssayError("--resume goes on with the golden set of its run: leave out --golden, or leave out --resume")
    with run_store(where, runs_file, write=True) as store:
        if resumed:
            typed = click.get_current_context().get_parameter_source("spec") is ParameterSource.COMMANDLINE
            outcome = _go_on(store, store.find(resumed), spec if typed else None, where, corpus, timeout, jobs)
        else:
            golden = _loaded(golden_path)
            within = str(corpus.resolve()) if corpus else ""
            by = matcher_for(golden, matching)
            plan = Plan(by, k, depth or 0, budget, repeat, jobs, answers, within, label, ties)
            outcome = begin(store, golden, plan, open_system(spec, timeout=timeout, root=where, corpus=corpus), where)
        run = told(store, outcome.info, chosen, summary=None if chosen else outcome.summary)
        unstable = store.unstable(outcome.info.run_id)
    if unstable:
        run["warnings"].append(
            f"{len(unstable)} queries were answered differently when repeated: {', '.join(unstable[:_UNSTABLE_SHOWN])}"
        )
    folder = output or kept_at(where, runs_file, "runs", outcome.info.run_id)
    saved = _save(run, folder, findings_file)
    if form == "json":
        print_json(run)
    else:
        print_run(run, chosen or main_measures(run["k"]))
        echo(f"\nsaved: {', '.join(map(str, saved))}")
    if outcome.info.status != "complete":
        died = f" ({outcome.died})" if outcome.died else ""
        raise AssayError(
            f"the run is incomplete{died}; what was answered is kept. Go on with: {_going_on(outcome.info)}"
        )
    raise click.exceptions.Exit(1 if run["counts"]["failed"] else 0)  # fmt: skip


def _loaded(golden_path: Path | None) -> GoldenSet:
    if golden_path is None:
        raise AssayError("which golden set? Give --golden PATH (or --resume RUN to go on with an interrupted run)")
    return golden_sets.load(golden_path)


def begin(store: RunStore, golden: GoldenSet, plan: Plan, system: System, root: Path) -> Outcome:
    """A new run, asked to its end."""
    with _asking(system, len(golden.queries)) as advance:
        return execute(golden, system, store, plan, root, advance)


def _go_on(
    store: RunStore, info: RunInfo, spec: str | None, root: Path, corpus: Path | None, timeout: float, jobs: int
) -> Outcome:
    """Goes on with a run. The store may be a stranger's: what it names is started only if the user names it too."""
    if spec is None and reaches_out(info.system):
        raise AssayError(
            printable(f"run {info.run_id} asked {info.system}; to ask it again, name it: {_going_on(info)}")
        )
    if spec is not None and spec.strip() != info.system:
        raise AssayError(
            printable(f"run {info.run_id} asked {info.system}, not {spec}: leave out --system, or repeat that")
        )
    within = corpus or (Path(info.corpus) if info.corpus else None)
    if corpus is None and within is not None and not within.resolve().is_relative_to(root.resolve()):
        raise AssayError(printable(f"run {info.run_id} asked over {info.corpus}; to go on there, repeat --corpus"))
    system = open_system(info.system, timeout=timeout, root=root, corpus=within)
    left = len(store.repositories(info)) - sum(store.answered(info.run_id).values())
    with _asking(system, left) as advance:
        return resume(info, system, store, jobs, advance)


def _going_on(info: RunInfo) -> str:
    """The command that goes on with a run."""
    named = f" --system {shlex.quote(info.system)}" if reaches_out(info.system) else ""
    return f"assay eval run --resume {info.run_id}{named}"


@contextmanager
def _asking(system: System, queries: int) -> Iterator[Callable[[], None]]:
    """Shows how far it is, and lets go of the system whatever happens."""
    bar = Bar()
    bar.start("asking", queries)
    try:
        yield bar.advance
    finally:
        bar.close()
        system.close()


def _save(run: dict[str, Any], folder: Path, findings_file: Path | None) -> list[Path]:
    """results.json and the findings in Markdown; over several repositories also CROSS_REPO_FINDINGS.md."""
    files = {
        folder / "results.json": json.dumps(run, indent=2, ensure_ascii=False) + "\n",
        folder / "FINDINGS.md": findings(run),
    }
    if len(run["repositories"]) > 1:
        files[folder / "CROSS_REPO_FINDINGS.md"] = cross_repo_findings(run)
    if findings_file:
        files[findings_file] = cross_repo_findings(run) if len(run["repositories"]) > 1 else findings(run)
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise AssayError(
                f"{path}: cannot be written ({error.strerror or error}); the run itself is stored"
            ) from None
    return list(files)


# text


def print_run(run: dict[str, Any], measures: Sequence[Measure]) -> None:
    """Per query, per tier and category, then the whole with its spread."""
    names = [str(measure) for measure in measures]
    echo(
        f"{run['system']} on {run['golden']['path']}: {run['golden']['queries']} queries, matching {run['matching']}, k = {run['k']}\n"
    )
    rows = [
        [
            shortened(q["text"], _TASK),
            *(figure(q["metrics"].get(name)) for name in names),
            q["first_rank"] or "–",
            _remark(q),
            q["tier"],
        ]
        for q in run["queries"]
    ]
    for line in columns(["task", *names, "first", "", "tier"], rows):
        echo(line)
    for title in ("tiers", "categories", "repositories", "languages"):
        if run[title]:
            echo("")
            groups = [
                [g, *(figure(told["metrics"].get(name)) for name in names), told["count"]]
                for g, told in run[title].items()
            ]
            for line in columns([title, *names, "N"], groups):
                echo(line)
    _print_failed(run)
    echo("")
    for name, value in run["metrics"].items():
        if not value and not parse(name).higher_is_better:
            continue  # rates of what went wrong are worth a line when something did
        spread = run["spread"].get(name, {})
        interval = f"  95 % {figure(spread['low'])} … {figure(spread['high'])}" if spread.get("low") is not None else ""
        echo(f"  {name + ':':22}{figure(value)} (±{figure(spread.get('sd'))}){interval}")
    latency = run["latency"]
    if latency["p50"] is not None:
        echo(
            f"  {'latency:':22}p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, mean {latency['mean']:.1f} ms"
        )
    echo(f"\nrun {run['run_id']}" + (f" ({run['label']})" if run["label"] else ""))
    echo_warnings(run["warnings"])


def _remark(query: dict[str, Any]) -> str:
    if query["error"]:
        return "failed"
    if query["refuse"]:
        return "refused" if query["refused"] else "answered, should refuse"
    return "" if query["first_rank"] else "nothing found"


def _print_failed(run: dict[str, Any]) -> None:
    failed = [q for q in run["queries"] if q["expected"] and not q["first_rank"]]
    if not failed:
        return
    echo(f"\nnothing found for {len(failed)} queries:")
    for query in failed[:_FAILED_SHOWN]:
        echo(f"  {query['id']}: {shortened(query['text'], 90)}")
        echo(f"    expected:  {shortened(', '.join(query['expected']), 110)}")
        echo(f"    retrieved: {shortened(query['error'] or ', '.join(query['retrieved']) or 'nothing', 110)}")
    if len(failed) > _FAILED_SHOWN:
        echo(f"  … and {len(failed) - _FAILED_SHOWN} more in FINDINGS.md")


# `assay eval list`.


@click.command("list")
@click.option("--system", metavar="TEXT", help="Only runs of systems that contain TEXT.")
@click.option("--golden", metavar="TEXT", help="Only runs on golden sets whose path contains TEXT.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most the last N.")
@root_option
@runs_option
@format_option
def list_command(
    system: str | None, golden: str | None, limit: int, root: Path | None, runs_file: Path | None, form: str
) -> None:
    """The runs there are, oldest first."""
    with run_store(root, runs_file) as store:
        told = listed(store)
    chosen = [run for run in told if (system or "") in run["system"] and (golden or "") in run["golden"]][-limit:]
    if form == "json":
        print_json({"runs": chosen})
        return
    rows = [
        [r["run_id"], r["status"], *(figure(r["metrics"].get(f"{name}@{r['k']}")) for name in ("P", "R", "RR", "nDCG")), r["queries"],
         r["label"], shortened(r["system"], 40), shortened(r["golden"], 40)]
        for r in chosen
    ]  # fmt: skip
    for line in columns(["run", "status", "P@k", "R@k", "RR@k", "nDCG@k", "N", "label", "system", "golden"], rows):
        echo(line)
