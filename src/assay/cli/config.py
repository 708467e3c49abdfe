"""Commands about settings: config, trust."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.config import trust, user
from assay.config.configuration import NAME, BadConfiguration, Configuration, Setting, key, load, settings, value
from assay.config.roots import roots_of, workspace_around
from assay.config.trust import Risk, UntrustedSettings
from assay.errors import AssayError
from assay.text.display import counted


@click.command("config")
@click.argument("action", required=False, type=click.Choice(["check"]))
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository. Default: the one around the current folder.",
)
@format_option
def config_command(action: str | None, root: Path | None, form: str) -> None:
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


# `assay trust`.

_DONE, _OPEN = 0, 1  # exit codes: nothing is left to decide; something is


@click.command("trust")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The repository, or the folder of a workspace. Default: the one around the current folder.",
)
@click.option("--show", is_flag=True, help="Only show the settings and whether they are trusted.")
@click.option("--revoke", is_flag=True, help="End the trust in this repository.")
@click.option("--yes", is_flag=True, help="Do not ask; for scripts, which know what they trust.")
@format_option
def trust_command(root: Path | None, show: bool, revoke: bool, yes: bool, form: str) -> None:
    """Decide about the settings of assay.toml that reach out of the repository: servers, keys, other folders, models.

    Until you trust them they are ignored. The decision is yours alone, is kept in your user configuration, and ends when one of these
    settings changes. Exit codes: 0 trusted, revoked, or nothing to decide; 1 not trusted (--show, or you said no), or nothing to revoke
    (--revoke); 2 could not.
    """
    if show and revoke:
        raise AssayError("--show and --revoke: give one of them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedSettings)
        where = root.resolve() if root else workspace_around(Path.cwd()) or find_root(None)
        if revoke:
            raise click.exceptions.Exit(_revoke(where / NAME, form))
        configuration = load(where)
    if form == "json" or show or not configuration.ignored:
        _show(configuration, where, form)
        if show or not configuration.ignored:
            raise click.exceptions.Exit(_OPEN if configuration.ignored else _DONE)
    else:
        _print_risks(configuration.risks, where / NAME)
    if not yes and not _is_wanted():
        echo("not trusted: these settings stay ignored", err=True)
        raise click.exceptions.Exit(_OPEN)
    trust.grant(where / NAME, configuration.risks)
    echo("trusted until one of these settings changes (assay trust --revoke ends it)", err=True)


def _revoke(file: Path, form: str) -> int:
    ended = trust.revoke(file)
    if form == "json":
        print_json({"file": str(file), "revoked": ended})
    else:
        echo(f"{file}: no longer trusted" if ended else f"{file}: was not trusted")
    return _DONE if ended else _OPEN


def _show(configuration: Configuration, where: Path, form: str) -> None:
    file = where / NAME
    if form == "json":
        settings = [
            {"name": f"{risk.section}.{risk.name}", "value": risk.value, "effect": risk.effect}
            for risk in configuration.risks
        ]
        print_json({"file": str(file), "trusted": not configuration.ignored, "settings": settings})
    elif not configuration.risks:
        echo(f"{file}: nothing in it needs trust" if configuration.file else f"no {NAME} in {where}")
    else:
        _print_risks(configuration.risks, file)
        echo("not trusted: these settings are ignored" if configuration.ignored else "trusted")


def _print_risks(risks: tuple[Risk, ...], file: Path) -> None:
    echo(f"{file}: {counted(len(risks), 'setting')} with an effect outside of the repository:")
    for risk in risks:
        echo(f"  {risk.title} = {risk.shown}\n      {risk.effect}")


def _is_wanted() -> bool:
    """Ask a person at a terminal; nobody else can answer."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise AssayError("nobody can be asked without a terminal: assay trust --yes trusts what is shown above")
    return click.confirm("Trust these settings?", default=False, err=True)
