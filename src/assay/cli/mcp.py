"""`assay mcp`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from assay.cli.common import find_repository, roots_options
from assay.cli.opening import check_servable, repository_at
from assay.errors import AssayError
from assay.extras import install
from assay.live import resident_of
from assay.live.access import Access, listen
from assay.live.first_look import FirstLook
from assay.mcp.notes import Notes


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
def command(
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
        from assay.mcp.running import over_http, over_stdio  # takes a second, in which the index is begun
        from assay.mcp.server import Serving

        serving = Serving(resident, first, notes)
        if listening is None:
            over_stdio(serving)
        else:
            over_http(serving, access, listening)
