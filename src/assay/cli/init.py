"""`assay init`."""

from __future__ import annotations

import difflib
import shutil
import sys
from pathlib import Path

import click

from assay.cli.common import echo, find_repository
from assay.errors import AssayError
from assay.ingest.walk import check_root
from assay.mcp.clients import CLIENTS, Change, Client, plan, write
from assay.root import workspace_around


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
def command(root: Path | None, names: tuple[str, ...], only_show: bool) -> None:
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
