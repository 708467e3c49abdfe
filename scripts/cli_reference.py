"""Print docs/cli.md: every command with its arguments and options, taken from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from assay.cli import cli, color_option


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _default(option: click.Option) -> str:
    shown = option.show_default if isinstance(option.show_default, str) else option.default
    return f"`{shown}`" if option.show_default and shown is not None else ""


def _names(option: click.Option) -> str:
    return _cell(f"`{', '.join(sorted(option.opts, key=len))}{_value(option)}`")


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return f" [{'|'.join(option.type.choices)}]"
    return " " + (option.metavar or option.type.name.split()[0].upper())


def _command(name: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=f"assay {name}")
    lines = [f"## assay {name}", "", f"    {' '.join(command.get_usage(context).split()[1:])}", ""]
    lines += [*inspect.cleandoc(command.help or "").splitlines(), ""]
    options = [
        parameter for parameter in command.params if isinstance(parameter, click.Option) and parameter.name != "color"
    ]
    if options:
        lines += ["| option | what | default |", "|---|---|---|"]
        lines += [f"| {_names(option)} | {_cell(option.help or '')} | {_default(option)} |" for option in options] + [
            ""
        ]
    return lines


def commands() -> list[tuple[str, click.Command]]:
    """Every command by its whole name: `index`, `eval run`, `eval baseline set`."""
    return list(_below(cli, ""))


def _below(group: click.Group, prefix: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield prefix + name, command
        if isinstance(command, click.Group):
            yield from _below(command, f"{prefix}{name} ")


def reference() -> str:
    lines = ["# Commands", "", "Made by `make docs` from the commands themselves.", ""]
    lines += [*inspect.cleandoc(cli.help or "").splitlines(), ""]
    lines += [f"Every command takes {_names(color := color_option())}. {_cell(color.help or '')}", ""]
    lines += ["| command | what |", "|---|---|"]
    lines += [
        f"| [`assay {name}`](#assay-{name.replace(' ', '-')}) | {_cell(command.get_short_help_str(200))} |"
        for name, command in commands()
    ]
    lines.append("")
    for name, command in commands():
        lines += _command(name, command)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(reference(), end="")
