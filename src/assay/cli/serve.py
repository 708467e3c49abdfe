"""`assay serve`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from assay.cli.common import echo, find_root, roots_options
from assay.cli.opening import check_servable, repository_at
from assay.errors import AssayError
from assay.extras import install
from assay.repository import Repository
from assay.system.owned import FOLDER
from assay.workspace import Workspace


@click.command("serve")
@roots_options
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
    help="The run file. Default: .assay/runs.db at the root; of several, in the workspace's folder.",
)
@click.option("--no-watch", is_flag=True, help="Do not follow changes of files; the index is brought up to date once.")
def command(
    roots: tuple[str, ...],
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
        raise AssayError(f"assay serve needs {error.name}: {install('web')}") from None
    from assay.live import resident_of
    from assay.live.access import Access, listen
    from assay.serve.bench import Bench

    access = Access(host, token, frozenset(name.lower() for name in names))
    repo = repository_at(roots, index_dir)
    for one in repo.members.values():
        check_servable(one)
    repo.ignored_settings  # noqa: B018 (warns now, not with the first request)
    listening = listen(host, port)
    with closing(listening), resident_of(repo, index_dir, not no_watch, partly=True) as resident:
        where = ", ".join(map(str, resident.roots))
        echo(f"serving {where} at http://{access.shown}:{listening.getsockname()[1]} (Ctrl-C stops it)")
        run(application(Bench(resident, runs_file or _own_folder(repo) / FOLDER / "runs.db"), access), listening)


def _own_folder(repo: Repository) -> Path:
    """Where runs are kept: at the root; of several, where their assay.toml is, else where `assay eval` would keep them now."""
    return (repo.folder or find_root(None)) if isinstance(repo, Workspace) else repo.root
