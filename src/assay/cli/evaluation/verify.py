"""`assay eval verify`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation.common import echo_warnings, root_option
from assay.cli.evaluation.corpus import inventories
from assay.errors import AssayError
from assay.evaluate.golden import load
from assay.evaluate.matching import matcher_for
from assay.evaluate.verify import verify


@click.command("verify")
@click.option(
    "--golden",
    "golden_path",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The golden set: a file or a folder, any format.",
)
@click.option("--matching", metavar="NAME", help="The matcher the set is meant for. Default: by the set.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder with one indexed repository in each sub-folder, for sets over several.",
)
@click.option(
    "--items",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Everything that can be retrieved, where that is not our index: one id per line, or JSON objects as systems return them.",
)
@root_option
@format_option
def command(
    golden_path: Path, matching: str | None, corpus: Path | None, items: Path | None, root: Path | None, form: str
) -> None:
    """Does everything a golden set expects exist? What does not can never be found, and looks like a loss of the ranking.

    Symbols are looked up in the index, files in the folder, documents of a BEIR set in its corpus. Exit code 1 when something is missing.
    """
    golden = load(golden_path)
    chosen = matcher_for(golden, matching)
    known = inventories(golden, find_root(root), corpus, items)
    missing, checked, skipped = verify(golden.queries, known, chosen)
    if not checked and skipped:
        raise AssayError(
            f"{golden_path}: nothing here says what exists at level {', '.join(golden.levels)}. "
            "Make an index with `assay index`, or give --items FILE with all that can be retrieved."
        )
    if form == "json":
        print_json(
            {
                "golden": str(golden_path),
                "format": golden.format,
                "queries": len(golden.queries),
                "checked": checked,
                "not_checkable": skipped,
                "missing": [
                    {
                        "query": m.query.id,
                        "tier": m.query.tier,
                        "text": m.query.text,
                        "expected": m.expected.name,
                        "level": m.expected.level,
                        "where": m.query.where,
                        "nearest": list(m.near),
                    }
                    for m in missing
                ],
                "warnings": list(golden.warnings),
            }
        )
    else:
        for one in missing:
            echo(str(one))
        note = f" ({skipped} more cannot be checked here)" if skipped else ""
        echo(
            f"{golden.format}: {len(golden.queries)} queries, {checked} expectations checked, {len(missing)} missing{note}"
        )
        echo_warnings(golden.warnings)
    raise click.exceptions.Exit(1 if missing else 0)  # fmt: skip
