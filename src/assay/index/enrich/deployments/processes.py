"""Process files: Procfiles of Heroku and Foreman, and service units of systemd."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from assay.index.enrich.deployments.project import Image, Project, Start

_PROCESS = re.compile(r"([\w-]+):\s*(\S.*)")
_PREFIX = re.compile(r"[-@:+!]+")  # of a command in a unit


def read_procfile(project: Project, path: str) -> Iterator[Start]:
    for number, line in enumerate(project.sources.text(path).splitlines(), 1):
        if match := _PROCESS.fullmatch(line.strip()):
            yield Start(match[1], number, match[2], (posixpath.dirname(path),))


def read_unit(project: Project, path: str) -> Iterator[Start]:
    """Yield the command of a service unit. Its working directory is taken for a checkout of the repository."""
    section, folder = "", ""
    commands: list[tuple[int, str]] = []
    text = re.sub(r"\\\r?\n", "  ", project.sources.text(path))
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            if key.strip() == "WorkingDirectory":
                folder = value.strip().lstrip("-")
            elif key.strip() == "ExecStart":
                commands.append(
                    (number, _PREFIX.sub("", value.strip(), count=1) if _PREFIX.match(value.strip()) else value.strip())
                )
    image = Image([(posixpath.normpath(folder), "")], folder=folder) if folder.startswith("/") else None
    for number, command in commands:
        yield Start(posixpath.basename(path), number, command, (), image)


READERS = {r"(?:.*/)?Procfile(?:\.\w+)?": read_procfile, r"(?:.*/)?[\w@.-]+\.service": read_unit}
