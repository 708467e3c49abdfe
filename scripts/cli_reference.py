"""Prints docs/cli.md: every command with its arguments and options, taken from the commands themselves."""

from __future__ import annotations

import inspect

import click

from assay.cli import COMMANDS, cli


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _default(option: click.Option) -> str:
    return f"`{option.default}`" if option.show_default and option.default is not None else ""


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
    lines += ["| option | what | default |", "|---|---|---|"]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            lines.append(f"| {_names(parameter)} | {_cell(parameter.help or '')} | {_default(parameter)} |")
    return [*lines, ""]


def reference() -> str:
    context = click.Context(cli, info_name="assay")
    lines = ["# Commands", "", "Made by `make docs` from the commands themselves.", ""]
    lines += [*inspect.cleandoc(cli.help or "").splitlines(), "", "| command | what |", "|---|---|"]
    lines += [f"| [`assay {name}`](#assay-{name}) | {_cell(text)} |" for name, (_, text) in COMMANDS.items()]
    lines.append("")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        lines += _command(name, command)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(reference(), end="")
