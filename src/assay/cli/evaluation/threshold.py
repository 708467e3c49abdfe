"""`assay eval threshold`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import columns, echo_warnings, figure, root_option
from assay.cli.progress import Bar
from assay.errors import AssayError
from assay.evaluate.golden import load
from assay.evaluate.systems import System, SystemFailed, open_system
from assay.evaluate.threshold import Advice, Judged, Point, advise, curve
from assay.retrieve.configuration import load as configuration
from assay.text.counting import counted


@click.command("threshold")
@click.option(
    "--golden",
    "golden_path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set, with questions to refuse among the others.",
)
@click.option(
    "--system",
    "spec",
    metavar="SPEC",
    default="ask",
    show_default=True,
    help="Whom to ask: ask, ask:model=URL#NAME, or any system that says its confidence.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds for one question.",
)
@root_option
@format_option
def command(golden_path: Path, spec: str, timeout: float, root: Path | None, form: str) -> None:
    """At which confidence `assay ask` should refuse: what each threshold would have done with a golden set, and the line for assay.toml.

    Balanced accuracy is the mean of two shares: of the answerable questions that are answered, and of the others that are refused.
    """
    where = find_root(root)
    golden = load(golden_path)
    used = configuration(where).ask.threshold
    system = open_system(spec, timeout=timeout, root=where)
    try:
        judged, failed = _asked(system, [(query.text, query.refuse, query.id) for query in golden.queries])
    finally:
        system.close()
    kinds = [sum(one.refuse == kind for one in judged) for kind in (False, True)]
    if not all(kinds):
        raise AssayError(
            f"{golden_path}: {counted(kinds[0], 'question')} to answer and {kinds[1]} to refuse came back with a confidence; both kinds are needed"
        )
    points, advice = curve(judged), advise(judged, used)
    if form == "json":
        print_json(_json(str(golden_path), spec, kinds, points, advice, failed))
    else:
        echo(f"{spec} on {golden_path}: {kinds[0]} answerable questions, {kinds[1]} to refuse\n")
        _print(points, advice)
    echo_warnings([f"{counted(failed, 'question')} got no answer with a confidence and are left out"] if failed else [])


def _asked(system: System, questions: list[tuple[str, bool, str]]) -> tuple[list[Judged], int]:
    """How sure the system is about each question, and how many it could not say that of."""
    bar = Bar()
    bar.start("asking", len(questions))
    judged, failed = [], 0
    try:
        system.index()
        for text, refuse, query_id in questions:
            try:
                answer = system.answer(text, 10, None, "", query_id).answer
            except SystemFailed:
                answer = None
            if answer is None or answer.confidence is None:
                failed += 1
            else:
                judged.append(Judged(answer.confidence, refuse))
            bar.advance()
    finally:
        bar.close()
    return judged, failed


def _json(
    golden: str, spec: str, kinds: list[int], points: list[Point], advice: Advice, failed: int
) -> dict[str, object]:
    return {
        "golden": golden,
        "system": spec,
        "answerable": kinds[0],
        "to_refuse": kinds[1],
        "failed": failed,
        "curve": [_point(point) for point in points],
        "used": _point(advice.used),
        "best": _point(advice.point),
        "change": advice.change,
        "why": advice.why,
    }


def _point(point: Point) -> dict[str, float]:
    return {
        "threshold": round(point.threshold, 4), "answered": round(point.answered, 4), "refused": round(point.refused, 4),
        "balanced_accuracy": round(point.balanced, 4), "low": round(point.low, 4), "high": round(point.high, 4),
    }  # fmt: skip


def _print(points: list[Point], advice: Advice) -> None:
    head = ["threshold", "answered", "refused", "balanced accuracy", "95 %"]
    rows = [
        [f"{p.threshold:.2f}", *map(figure, (p.answered, p.refused, p.balanced)), f"{p.low:.2f} … {p.high:.2f}"]
        for p in points
    ]
    for line in columns(head, rows):
        echo(line)
    best, used = advice.point, advice.used
    echo(f"\nin use: {used.threshold:g}, balanced accuracy {figure(used.balanced)}")
    if best == used:
        echo(f"keep it: {advice.why}")
        return
    echo(f"best: {best.threshold:g}, balanced accuracy {figure(best.balanced)}: {advice.why}")
    echo(f"\nin assay.toml:\n[ask]\nthreshold = {best.threshold:g}")
