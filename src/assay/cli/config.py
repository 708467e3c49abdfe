"""`assay config`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.config import user
from assay.errors import AssayError
from assay.retrieve.configuration import NAME, BadConfiguration, Configuration, Setting, load, settings
from assay.retrieve.toml_text import key, value
from assay.root import workspace_around
from assay.roots import roots_of


@click.command("config")
@click.argument("action", required=False, type=click.Choice(["check"]))
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository. Default: the one around the current folder.",
)
@format_option
def command(action: str | None, root: Path | None, form: str) -> None:
    """Every setting, its value, and where it comes from: assay.toml at the root, your user configuration, the default, or the base of a
    profile. Settings that are ignored until you trust them (assay trust) stand at the end.

    The text is TOML and can be kept as assay.toml. With the ACTION `check`, only says whether assay.toml is right: every mistake, and
    exit code 1 when there is one.
    """
    where = root.resolve() if root else workspace_around(Path.cwd()) or find_root(None)
    if action == "check":
        raise click.exceptions.Exit(_check(where, form))
    configuration = load(where)
    rows = settings(configuration)
    if form == "json":
        ignored = [{"name": f"{risk.section}.{risk.name}", "value": risk.value} for risk in configuration.ignored]
        print_json(
            {"file": _file(configuration), "settings": [_json(row) for row in rows], "ignored_settings": ignored}
        )
        return
    echo(f"# {configuration.file or f'no {NAME} in {where}: everything has its default'}")
    if configuration.own:
        echo(f"# {user.path()}: user configuration")
    for line in _toml(rows):
        echo(line)
    if configuration.ignored:
        echo("\n# ignored until you trust them: assay trust --show")
        for risk in configuration.ignored:
            echo(f"# {risk.title} = {risk.shown}")


def _check(root: Path, form: str) -> int:
    try:
        configuration, problems = load(root), list[str]()
        roots_of(root)
    except BadConfiguration as error:
        configuration, problems = Configuration(root / NAME), error.problems
    except AssayError as error:
        problems = str(error).splitlines()
    if form == "json":
        print_json({"file": _file(configuration), "problems": problems})
    else:
        fine = f"{configuration.file}: right" if configuration.file else f"no {NAME} in {root}, which is fine"
        echo("\n".join(problems) or fine)
    return 1 if problems else 0


def _file(configuration: Configuration) -> str | None:
    return str(configuration.file) if configuration.file else None


def _json(row: Setting) -> dict[str, object]:
    return {"name": ".".join((*row.section, row.name)), "value": row.value, "origin": row.origin}


def _toml(rows: list[Setting]) -> Iterator[str]:
    """The settings as TOML; what is built in, and cannot be set under that name, as a comment."""
    for (section, built_in), group in groupby(rows, key=lambda row: (row.section, row.built_in)):
        mark = "# " if built_in else ""
        yield f"\n{mark}[{'.'.join(map(key, section))}]"
        for row in group:
            line = f"{'.'.join(map(key, row.name.split('.')))} = {value(row.value)}"
            yield f"{mark}{line:<40} # {row.origin}"
