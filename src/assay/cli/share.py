"""Commands that share an index: publish and pull."""

from __future__ import annotations

import click

from assay.api import Repository
from assay.cli.common import Bar, echo, echo_wrapped, format_option, print_json
from assay.cli.options import single_repository_options
from assay.text.display import counted


@click.command("publish")
@click.argument("dest")
@single_repository_options
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="Keep only the newest N snapshots at DEST.")
@click.option("--stale", "allow_stale", is_flag=True, help="Publish even if files changed since they were indexed.")
@format_option
def publish_command(dest: str, repo: Repository, keep: int | None, allow_stale: bool, form: str) -> None:
    """Publish the index to DEST: a folder, or an address of fsspec such as s3://bucket/assay/shop.

    Others get it with `assay pull`. What DEST already has is not sent again.
    """
    with Bar() as bar:
        published = repo.publish(dest, keep=keep or 0, allow_stale=allow_stale, progress=bar)
    if form == "json":
        print_json(published._asdict())
        return
    sizes = f"{published.bytes / 1e6:.1f} MB, {published.sent / 1e6:.1f} MB of it new"
    echo(f"published snapshot {published.snapshot[:16]}: {counted(published.files, 'file')}, {sizes}")
    if published.removed:
        echo(f"removed {counted(published.removed, 'old snapshot')}")


@click.command("pull")
@click.argument("source")
@single_repository_options
@click.option("--snapshot", default="", metavar="ID", help="Snapshot to get. Default: the one nearest to HEAD.")
@click.option("--no-refresh", is_flag=True, help="Leave the index as published; do not update it to the files here.")
@format_option
def pull_command(source: str, repo: Repository, snapshot: str, no_refresh: bool, form: str) -> None:
    """Get a published index from SOURCE (a folder, https:// or fsspec address) and update it to the files here.

    Every file is compared with its digest, and the index is verified before it replaces the one in use.
    An interrupted pull is resumed by the same command.
    """
    with Bar() as bar:
        pulled = repo.pull(source, snapshot=snapshot, progress=bar)
    report = None
    if not no_refresh:
        with Bar() as bar:
            report = repo.refresh(progress=bar)
    if form == "json":
        update = None
        if report:
            update = {
                "mode": report.mode,
                "parsed": report.parsed,
                "removed": report.removed,
                "seconds": report.seconds,
            }
        print_json(
            {
                "snapshot": pulled.snapshot, "commit": pulled.commit, "bytes": pulled.bytes, "files": pulled.files,
                "same": pulled.same, "update": update,
            }
        )  # fmt: skip
        return
    origin = f" of commit {pulled.commit[:12]}" if pulled.commit else ""
    echo_wrapped(
        f"pulled snapshot {pulled.snapshot[:16]}{origin}: {pulled.bytes / 1e6:.1f} MB; "
        f"{counted(pulled.same, 'indexed file')} the same here"
    )
    if report and report.mode == "fresh":
        echo("up to date")
    elif report:
        changes = f"{report.parsed} changed, {report.removed} removed"
        echo(f"updated in {report.seconds:.1f} s: {changes}" + (f" ({report.reason})" if report.reason else ""))
