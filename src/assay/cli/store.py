"""Commands for stores: init and migrate (PostgreSQL, by its owner), copy, check, prune (any store)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.common import STORE, Bar, echo, echo_row, find_root, format_option, print_json
from assay.cli.evaluation.options import Runs, root
from assay.database import require_driver
from assay.database.address import Address, configured_store, is_postgres, shown_store
from assay.errors import AssayError
from assay.evaluate.runs import RunStore
from assay.evaluate.upkeep import check_ledger, check_runs, copy_ledger, copy_runs, prune_runs, select_runs
from assay.feedback.team import shared_name
from assay.feedback.upkeep import (
    check_feedback,
    copy_feedback,
    is_feedback_file,
    open_feedback,
    prune_feedback,
    repositories,
)
from assay.system.files import FOLDER
from assay.text.display import counted

if TYPE_CHECKING:
    import psycopg

_OK, _PROBLEMS = 0, 1  # exit codes
_DAY = 86_400.0  # seconds

_address = click.argument("address", required=False, default="")
_runs_option = click.option(
    "--runs",
    "store",
    type=STORE,
    metavar="STORE",
    help="The run store. Default: ASSAY_STORE, the user's configuration, or .assay/runs.db at the root.",
)
_names = click.option("--run", "names", multiple=True, metavar="RUN", help="Only this run. May be repeated.")


@click.group("store")
def store_command() -> None:
    """Set up and maintain stores: PostgreSQL for a team, or an SQLite file (.assay/runs.db).

    A team shares runs, golden sets, baselines, experiments and feedback.

    An address is postgresql://USER@HOST:PORT/DATABASE?project=NAME with any parameters of libpq (sslmode, sslrootcert,
    passfile, …). Keep passwords in ~/.pgpass or PGPASSWORD: other users of the machine can read a command line.
    """


@store_command.command("init")
@_address
@format_option
def store_init_command(address: str, form: str) -> None:
    """Create the tables in ADDRESS, its project, and the project's two roles, a reader and a writer.

    ADDRESS is that of the owner of the database, who may create roles. Default: the configured store.
    Repeat it with another project to add one.
    """
    place = _postgres(address)
    with _owner(place) as connection:
        from assay.database.schema import add_project, migrate

        applied = migrate(connection)
        added = add_project(connection, place)
    if form == "json":
        roles = {"reader": place.reader, "writer": place.writer}
        print_json({"store": str(place), "project": place.project, "added": added, "migrations": applied, **roles})
        return
    echo(f"{place}: {'added' if added else 'already has'} project {place.project}")
    echo("let people in, as the owner of the database:")
    echo(f"  CREATE ROLE ada LOGIN PASSWORD '…'; GRANT \"{place.writer}\" TO ada;   -- reads and writes")
    echo(f"  CREATE ROLE ben LOGIN PASSWORD '…'; GRANT \"{place.reader}\" TO ben;   -- only reads")


@store_command.command("migrate")
@_address
@format_option
def store_migrate_command(address: str, form: str) -> None:
    """Update the tables in ADDRESS to this version of assay. Other processes wait; an error changes nothing."""
    place = _postgres(address)
    with _owner(place) as connection:
        from assay.database.schema import MIGRATIONS, migrate

        applied = migrate(connection)
    if form == "json":
        print_json({"store": str(place), "migrations": applied, "version": len(MIGRATIONS)})
    else:
        done = f"applied {counted(len(applied), 'migration')}" if applied else "up to date"
        echo(f"{place}: {done} (format {len(MIGRATIONS)})")


@store_command.command("copy")
@click.argument("source", type=STORE)
@click.argument("dest", type=STORE)
@_names
@root
@format_option
def store_copy_command(
    source: Path | str, dest: Path | str, names: tuple[str, ...], root: Path | None, form: str
) -> None:
    """Copy runs, baselines and experiments from SOURCE to DEST; each is a file or an address.

    Between two addresses, feedback is copied as well. To copy feedback alone, name a learned.db as SOURCE or DEST: it is
    that of the repository around it, or of --root. What is already there is not copied again: a run that was resumed
    since is brought up to date, and of two counts of votes the larger one holds.
    """
    if is_feedback_file(source) or is_feedback_file(dest):
        symbols = _copy_feedback_file(source, dest, root)
        if form == "json":
            print_json({"source": shown_store(source), "dest": shown_store(dest), "symbols": symbols})
        else:
            echo(f"copied feedback on {counted(symbols, 'symbol')} to {shown_store(dest)}")
        return
    with RunStore.open(source) as origin, RunStore.open(dest, write=True) as target:
        runs = select_runs(origin, names)
        with _progress("copying", len(runs)) as advance:
            copied = copy_runs(origin, target, runs, advance)
        others = list(copy_ledger(origin, target, copied, everything=not names))
    if isinstance(source, str) and isinstance(dest, str) and not names:
        others += _copy_all_feedback(source, dest)
    new = [run for run in copied if run.new]
    if form == "json":
        rows = [{"run_id": run.run_id, "stored_as": run.stored_as, "new": run.new} for run in copied]
        print_json({"source": shown_store(source), "dest": shown_store(dest), "runs": rows, "others": others})
        return
    echo(f"copied {counted(len(new), 'run')} to {shown_store(dest)}; {len(copied) - len(new)} were there")
    for run in new:
        if run.stored_as != run.run_id:
            echo_row(f"  {run.run_id} is stored as {run.stored_as}: another run has its id")
    for what in others:
        echo_row(f"  {what}")


def _copy_all_feedback(source: str, dest: str) -> list[str]:
    """Copy feedback between two stores of teams; return what was copied, in words."""
    copied = []
    for repository in repositories(source):
        with open_feedback(source, repository, False) as origin, open_feedback(dest, repository, True) as target:
            copied.append(f"feedback on {counted(copy_feedback(origin, target), 'symbol')} of {repository}")
    return copied


def _copy_feedback_file(source: Path | str, dest: Path | str, root: Path | None) -> int:
    """Copy feedback from or to a file; return the number of symbols."""
    file = next(address for address in (source, dest) if isinstance(address, Path))
    around = file.resolve().parent.parent if file.resolve().parent.name == FOLDER else None
    folder = find_root(root or around)
    repository = shared_name(folder)
    for address in (source, dest):
        if isinstance(address, Path) and not is_feedback_file(address):
            raise AssayError(f"{address}: a run file has no feedback; name a learned.db, or the store of a team")
        if isinstance(address, str) and not repository:
            raise AssayError(
                f"{folder}: no git remote `origin` on another machine, so its clones have no common name to share feedback "
                "under. Name another repository with --root"
            )
    with open_feedback(source, repository, False) as origin, open_feedback(dest, repository, True) as target:
        return copy_feedback(origin, target)


@store_command.command("check")
@_runs_option
@root
@_names
@click.option("--against", type=STORE, metavar="STORE", help="Also compare every run with its copy in this store.")
@format_option
def store_check_command(
    store: Path | str | None, root: Path | None, names: tuple[str, ...], against: Path | str | None, form: str
) -> None:
    """Check that every run is whole: its golden set, the number of its responses, its judged arrays.

    Also that runs of baselines and open experiments are there, and that the feedback of a team can be read. Exit code 1
    if something is wrong, or if --against has no equal copy of a run.
    """
    runs = Runs(find_root(root), store)
    with runs.open() as opened, RunStore.open(against) if against else nullcontext() as other:
        selected = select_runs(opened, names)
        with _progress("checking", len(selected)) as advance:
            checked = check_runs(opened, selected, other, advance)
        problems = check_ledger(opened)
        counts = {"baselines": len(opened.ledger.baselines()), "experiments": len(opened.ledger.experiments())}
        size = opened.size()
    feedback = check_feedback(runs.address) if isinstance(runs.address, str) else []
    problems += [f"feedback on {checked.repository}: {problem}" for checked in feedback for problem in checked.problems]
    problems += [f"{run.run_id}: {problem}" for run in checked for problem in run.problems]
    responses = sum(run.responses for run in checked)
    counts["symbols"] = sum(checked.symbols for checked in feedback)
    if form == "json":
        rows = [
            {"run_id": run.run_id, "responses": run.responses, "digest": run.digest, "problems": list(run.problems)}
            for run in checked
        ]
        sums = {"bytes": size, "responses": responses, **counts}
        print_json({"store": shown_store(runs.address), **sums, "runs": rows, "problems": problems})
    else:
        for problem in problems:
            echo(problem)
        verdict = counted(len(problems), "problem") if problems else "all whole"
        numbers = [counted(len(checked), "run"), counted(responses, "response")]
        numbers += [counted(count, name.removesuffix("s")) for name, count in counts.items() if count]
        echo(f"{shown_store(runs.address)}: {', '.join(numbers)}, {size / 1e6:.1f} MB: {verdict}")
    raise click.exceptions.Exit(_PROBLEMS if problems else _OK)


@store_command.command("prune")
@_runs_option
@root
@click.option(
    "--days", type=click.FloatRange(min=0), required=True, help="Delete what was made more than so many days ago."
)
@click.option("--keep", multiple=True, metavar="RUN", help="Keep this run. May be repeated.")
@click.option("--dry-run", is_flag=True, help="Print what would be deleted; delete nothing.")
@format_option
def store_prune_command(
    store: Path | str | None, root: Path | None, days: float, keep: tuple[str, ...], dry_run: bool, form: str
) -> None:
    """Delete old runs with their responses, golden sets that no run uses any more, and old feedback of a team.

    Runs with a label, those of baselines and of eval/baseline.json at the root, those that an open experiment began
    with, and those of --keep stay; so do experiments. Feedback is as old as its last confirmation.
    """
    runs = Runs(find_root(root), store)
    with runs.open(write=not dry_run) as opened:
        old = prune_runs(opened, days, keep, runs.root, dry_run)
        left = len(opened.runs()) - (len(old) if dry_run else 0)
    shared = isinstance(runs.address, str)
    symbols = prune_feedback(str(runs.address), time.time() - days * _DAY, dry_run) if shared else 0
    if form == "json":
        deleted = {"deleted": [run.run_id for run in old], "symbols": symbols}
        print_json({"store": shown_store(runs.address), **deleted, "kept": left})
        return
    for run in old:
        echo_row(f"{run.run_id}  {run.created}  {run.system}")
    feedback = f"feedback on {counted(symbols, 'symbol')} and " if shared else ""
    echo(f"{'would delete' if dry_run else 'deleted'} {feedback}{counted(len(old), 'run')}, {left} stay")


def _postgres(text: str) -> Address:
    """Return the PostgreSQL store that a command names, or the configured one."""
    address = text or configured_store() or ""
    if not isinstance(address, str) or not is_postgres(address):
        raise AssayError("name a store in PostgreSQL: postgresql://USER@HOST/DATABASE?project=NAME, or set ASSAY_STORE")
    require_driver()
    return Address.parse(address)


@contextmanager
def _owner(address: Address) -> Iterator[psycopg.Connection]:
    """Connect as the login of an address, without a role of its project; print warnings of the server."""
    from assay.database.postgres import connect, translated

    with translated(address), connect(address) as connection:
        connection.add_notice_handler(lambda notice: echo(f"assay: warning: {notice.message_primary}", err=True))
        yield connection


@contextmanager
def _progress(stage: str, total: int) -> Iterator[Callable[[], None]]:
    with Bar() as bar:
        bar.start(stage, total)
        yield bar.advance
