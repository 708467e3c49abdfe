"""`assay serve`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import find_one, root_options
from assay.errors import AssayError


@click.command("serve")
@root_options
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. Any but a loopback one demands a token.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7070, show_default=True, help="The port; 0 for any that is free."
)
@click.option(
    "--token",
    envvar="ASSAY_TOKEN",
    default="",
    help="Answer only who has this token. Better in ASSAY_TOKEN: other users of the machine see the command line.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A further name it is reached by, behind a proxy. May be repeated.",
)
@click.option(
    "--runs",
    "runs_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The run file. Default: .assay/runs.db at the root.",
)
@click.option("--no-watch", is_flag=True, help="Do not follow changes of files; the index is brought up to date once.")
def command(
    root: Path | None,
    index_dir: Path | None,
    host: str,
    port: int,
    token: str,
    names: tuple[str, ...],
    runs_file: Path | None,
    no_watch: bool,
) -> None:
    """Search, explanations, runs, comparisons and sweeps as web pages, and everything as an HTTP API (/openapi.json).

    Only this machine can reach it unless --host says otherwise. Stop it with Ctrl-C.
    """
    try:
        from assay.serve.application import application
        from assay.serve.server import run
    except ImportError as error:
        raise AssayError(f"assay serve needs {error.name}: pip install 'assay[web]'") from None
    from assay.live import Resident
    from assay.live.access import Access, listen
    from assay.serve.bench import Bench

    access = Access(host, token, frozenset(name.lower() for name in names))
    where = find_one(root)
    if not where.is_dir():
        raise AssayError(f"{where}: no such folder")
    listening = listen(host, port)
    resident = Resident(where, index_dir, watch=not no_watch)
    try:
        click.echo(f"serving {where} at http://{access.shown}:{listening.getsockname()[1]} (Ctrl-C stops it)")
        run(application(Bench(resident, runs_file or where / ".assay" / "runs.db"), access), listening)
    finally:
        resident.close()
        listening.close()
