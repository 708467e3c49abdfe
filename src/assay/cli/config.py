"""Commands about settings: config, trust."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.options import root_option
from assay.config import trust, user
from assay.config.configuration import NAME, BadConfiguration, Configuration, Setting, load, settings
from assay.config.roots import roots_of, workspace_around
from assay.config.toml import key, value
from assay.config.trust import Risk, UntrustedSettings
from assay.errors import AssayError
from assay.text.display import counted


@click.command("config")
@click.argument("action", required=False, type=click.Choice(["check"]))
@root_option()
@format_option
def config_command(action: str | None, root: Path | None, form: str) -> None:
    """Show every setting with its value and origin: assay.toml, user configuration, default, or base profile.

    The output is valid assay.toml; settings that are ignored until trusted (assay trust) are listed at the end.
    With the ACTION `check`, validate assay.toml and list all errors; exit code 1 if there are any.
    """
    where = root.resolve() if root else workspace_around(Path.cwd()) or find_root(None)
    if action == "check":
        raise click.exceptions.Exit(_check_file(where, form))
    configuration = load(where)
    rows = settings(configuration)
    if form == "json":
        ignored = [{"name": f"{risk.section}.{risk.name}", "value": risk.value} for risk in configuration.ignored]
        print_json(
            {
                "file": _file_name(configuration),
                "settings": [
                    {"name": ".".join((*row.section, row.name)), "value": row.value, "origin": row.origin}
                    for row in rows
                ],
                "ignored_settings": ignored,
            }
        )
        return
    echo(f"# {configuration.file or f'no {NAME} in {where}: all settings have their defaults'}")
    if configuration.own:
        echo(f"# {user.path()}: user configuration")
    for line in _toml_lines(rows):
        echo(line)
    if configuration.ignored:
        echo("\n# ignored until you trust them: assay trust --show")
        for risk in configuration.ignored:
            echo(f"# {risk.title} = {risk.shown}")


def _check_file(root: Path, form: str) -> int:
    try:
        configuration, problems = load(root), list[str]()
        roots_of(root)
    except BadConfiguration as error:
        configuration, problems = Configuration(root / NAME), error.problems
    except AssayError as error:
        problems = str(error).splitlines()
    if form == "json":
        print_json({"file": _file_name(configuration), "problems": problems})
    else:
        success = f"{configuration.file}: valid" if configuration.file else f"no {NAME} in {root}: defaults are used"
        for line in problems or [success]:
            echo(line)
    return 1 if problems else 0


def _file_name(configuration: Configuration) -> str | None:
    return str(configuration.file) if configuration.file else None


def _toml_lines(rows: list[Setting]) -> Iterator[str]:
    """Yield the settings as TOML lines; built-in sections, which cannot be set, are commented out."""
    for (section, built_in), group in groupby(rows, key=lambda row: (row.section, row.built_in)):
        mark = "# " if built_in else ""
        yield f"\n{mark}[{'.'.join(map(key, section))}]"
        for row in group:
            line = f"{'.'.join(map(key, row.name.split('.')))} = {value(row.value)}"
            yield f"{mark}{line:<40} # {row.origin}"


# assay trust

_DONE, _UNDECIDED = 0, 1  # exit codes


@click.command("trust")
@root_option("Repository or workspace folder")
@click.option("--show", is_flag=True, help="Show the settings and whether they are trusted; change nothing.")
@click.option("--revoke", is_flag=True, help="Revoke the trust in this repository.")
@click.option("--yes", is_flag=True, help="Trust without confirmation, for scripts.")
@format_option
def trust_command(root: Path | None, show: bool, revoke: bool, yes: bool, form: str) -> None:
    """Trust settings of assay.toml with effects outside the repository: servers, keys, other folders, models.

    They are ignored until you trust them. The decision is stored in your user configuration and expires when one of
    these settings changes. Exit codes: 0 trusted, revoked, or nothing to decide; 1 not trusted (--show, or declined), or
    nothing to revoke (--revoke); 2 could not run.
    """
    if show and revoke:
        raise AssayError("--show and --revoke exclude each other")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedSettings)
        where = root.resolve() if root else workspace_around(Path.cwd()) or find_root(None)
        if revoke:
            raise click.exceptions.Exit(_revoke(where / NAME, form))
        configuration = load(where)
    if form == "json" or show or not configuration.ignored:
        _show_risks(configuration, where, form)
        if show or not configuration.ignored:
            raise click.exceptions.Exit(_UNDECIDED if configuration.ignored else _DONE)
    else:
        _print_risks(configuration.risks, where / NAME)
    if not yes and not _confirm_trust():
        echo("not trusted: these settings stay ignored", err=True)
        raise click.exceptions.Exit(_UNDECIDED)
    trust.grant(where / NAME, configuration.risks)
    echo("trusted until one of these settings changes (assay trust --revoke ends it)", err=True)


def _revoke(file: Path, form: str) -> int:
    revoked = trust.revoke(file)
    if form == "json":
        print_json({"file": str(file), "revoked": revoked})
    else:
        echo(f"{file}: no longer trusted" if revoked else f"{file}: was not trusted")
    return _DONE if revoked else _UNDECIDED


def _show_risks(configuration: Configuration, where: Path, form: str) -> None:
    file = where / NAME
    if form == "json":
        settings = [
            {"name": f"{risk.section}.{risk.name}", "value": risk.value, "effect": risk.effect}
            for risk in configuration.risks
        ]
        print_json({"file": str(file), "trusted": not configuration.ignored, "settings": settings})
    elif not configuration.risks:
        echo(f"{file}: no setting needs trust" if configuration.file else f"no {NAME} in {where}")
    else:
        _print_risks(configuration.risks, file)
        echo("not trusted: these settings are ignored" if configuration.ignored else "trusted")


def _print_risks(risks: tuple[Risk, ...], file: Path) -> None:
    echo(f"{file}: {counted(len(risks), 'setting')} with an effect outside the repository:")
    for risk in risks:
        echo(f"  {risk.title} = {risk.shown}\n      {risk.effect}")


def _confirm_trust() -> bool:
    """Ask for confirmation. Raises AssayError without a terminal."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise AssayError(
            "cannot ask for confirmation without a terminal; to trust the settings above, run: assay trust --yes"
        )
    return click.confirm("Trust these settings?", default=False, err=True)
