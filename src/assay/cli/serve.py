"""Commands that serve people and agents: serve, mcp, init."""

from __future__ import annotations

import difflib
import shutil
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import click

from assay.api import Repository, Workspace
from assay.cli.common import echo, find_repository, find_root, roots_options
from assay.cli.opening import check_servable, repository_at
from assay.config.roots import workspace_around
from assay.errors import AssayError, install
from assay.index.scan import check_root
from assay.serve.mcp.arguments import Notes
from assay.serve.mcp.clients import CLIENTS, Change, Client, plan, write
from assay.serve.watch import resident_of
from assay.serve.watch.access import Access, listen
from assay.serve.watch.first_look import FirstLook
from assay.system.files import FOLDER


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
def serve_command(
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
        from assay.serve.web.application import application, run
    except ImportError as error:
        raise AssayError(f"assay serve needs {error.name}: {install('web')}") from None
    from assay.serve.watch import resident_of
    from assay.serve.watch.access import Access, listen
    from assay.serve.web.bench import Bench

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


# `assay mcp`.


@click.command("mcp")
@roots_options
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), metavar="PORT", help="Over HTTP at this port instead; 0 for any."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --http: the address. Any but loopback demands a token."
)
@click.option(
    "--token",
    envvar="ASSAY_TOKEN",
    default="",
    help="With --http: who asks must have it. Default: ASSAY_TOKEN of the environment.",
)
@click.option("--no-watch", is_flag=True, help="Do not follow changes of files while it runs.")
@click.option("--no-learning", is_flag=True, help="Keep nothing of what was asked for, and take no feedback.")
def mcp_command(
    roots: tuple[str, ...],
    index_dir: Path | None,
    port: int | None,
    host: str,
    token: str,
    no_watch: bool,
    no_learning: bool,
) -> None:
    """Serve agents over the Model Context Protocol: stdin and stdout, or HTTP.

    It answers at once; where there is no index yet, by words alone while the index is built. `assay init` tells agents about it.
    """
    repo = repository_at(roots, index_dir, find_repository)
    for one in repo.members.values():
        check_servable(one)
    if find_spec("mcp") is None:
        raise AssayError(f"serving agents needs the package mcp: {install('mcp')}")
    access = Access(host, token)
    listening = listen(host, port) if port is not None else None
    with resident_of(repo, index_dir, not no_watch) as resident, Notes(resident, not no_learning) as notes:
        first = FirstLook({label: one.root for label, one in repo.members.items()})
        if not resident.wait(0):
            first.begin()
        from assay.serve.mcp.running import over_http, over_stdio  # takes a second, in which the index is begun
        from assay.serve.mcp.server import Serving

        serving = Serving(resident, first, notes)
        if listening is None:
            over_stdio(serving)
        else:
            over_http(serving, access, listening)


# `assay init`.


@click.command("init")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="The repository. Default: the one around the current folder.",
    metavar="DIR",
)
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Only this one. May be repeated. Default: all, but in your home only for those that are there.",
)
@click.option("--print", "only_show", is_flag=True, help="Show what would be written, and write nothing.")
def init_command(root: Path | None, names: tuple[str, ...], only_show: bool) -> None:
    """Tell agents and editors about assay: adds `assay mcp` to their configuration.

    Claude Code (.mcp.json), Cursor (.cursor/mcp.json), VS Code (.vscode/mcp.json), Codex (~/.codex/config.toml),
    Zed (~/.config/zed/settings.json). Nothing else in these files changes, comments included; an entry for assay that is there stays.
    Exit code 1 when a file had to be left as it is.
    """
    where = (None if root else workspace_around(Path.cwd())) or find_repository(root)
    check_root(where)
    started = _started_by()
    failed = False
    for client in [CLIENTS[name] for name in dict.fromkeys(names)] or list(CLIENTS.values()):
        if not names and not _is_there(client, where):
            echo(f"{client.title}: not found here; --client {client.name} writes it all the same")
            continue
        try:
            _tell(plan(client, where, started), only_show)
        except AssayError as error:
            failed = True
            echo(f"{client.title}: {error}", err=True)
    if started[0] == sys.executable:
        echo(
            f"note: assay is not on the PATH, so {sys.executable} was named; others who use this repository will have another",
            err=True,
        )
    raise click.exceptions.Exit(1 if failed else 0)


def _started_by() -> list[str]:
    """How others start assay."""
    # -P: nothing in the repository is taken for a module
    return ["assay"] if shutil.which("assay") else [sys.executable, "-P", "-m", "assay"]


def _is_there(client: Client, root: Path) -> bool:
    """Files of the repository are for everybody who works on it; the home is only written to for what is in use."""
    return client.shared or client.path(root).parent.is_dir()


def _tell(change: Change, only_show: bool) -> None:
    if not change.needed:
        echo(f"{change.client.title}: {change.path} has assay already")
        return
    if not only_show:
        write(change)
    echo(f"{change.client.title}: {'would write' if only_show else 'wrote'} {change.path}")
    for line in difflib.ndiff(change.before.splitlines(), change.after.splitlines()):
        if line.startswith("+ "):
            echo(f"    {line[2:]}")
