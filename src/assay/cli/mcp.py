"""`assay mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.common import find_root, root_options
from assay.errors import AssayError
from assay.ingest.walk import check_root


@click.command("mcp")
@root_options
@click.option("--no-watch", is_flag=True, help="Do not follow changes of files while it runs.")
@click.option("--no-learning", is_flag=True, help="Keep nothing of what was asked for, and take no feedback.")
def command(root: Path | None, index_dir: Path | None, no_watch: bool, no_learning: bool) -> None:
    """Serve agents over the Model Context Protocol: stdin and stdout.

    It answers at once; where there is no index yet, by words alone while the index is built. `assay init` tells agents about it.
    """
    where = find_root(root)
    check_root(where)
    try:
        from assay.mcp.server import serve_stdio
    except ImportError as error:
        raise AssayError(f"serving agents needs the package mcp ({error}): pip install 'assay[mcp]'") from None
    serve_stdio(where, index_dir, not no_watch, not no_learning)
