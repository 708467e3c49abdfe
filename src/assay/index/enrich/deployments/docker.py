"""Dockerfiles: the command of every stage that has one, with the file system that its paths refer to."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import NamedTuple

from assay.index.enrich.deployments.commands import simple_commands
from assay.index.enrich.deployments.project import Entry, Image, Project, Start

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?=\s)(.*)", re.DOTALL)
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+[aA][sS]\s+(\S+))?")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]{0,200}))?\}|(\w+))")
_ENVIRONMENT = re.compile(r"(\w+)(?:=(?:\"([^\"]*)\"|'([^']*)'|(\S*)))?")
_RELEASE = re.compile(r"/target/(?:[\w.-]+/)?(?:release|debug)/([\w-]+)$")
_MOST_COPIED = 200  # files that a wildcard of COPY stands for
_MOST_MOUNTS = 1_000  # of an image; stages that copy each other twice would double them
_MOST_INSTRUCTIONS = 2_000
UNNAMED = "image"  # unit of the last stage, if it has no name


class Stage(NamedTuple):
    """A stage of a Dockerfile: its name, its files, and its commands with the line of each."""

    name: str
    image: Image
    entrypoint: tuple[str | tuple[str, ...], int] | None = None
    command: tuple[str | tuple[str, ...], int] | None = None
    is_inherited: bool = False  # the command is that of the stage it is built on, which an entrypoint resets

    def start(self, unit: str) -> Start | None:
        """Return what the stage runs: its entrypoint with the command as arguments, or the command alone."""
        stated = self.entrypoint or self.command
        if stated is None:
            return None
        words, line = stated
        if self.entrypoint and self.command and isinstance(words, tuple) and isinstance(self.command[0], tuple):
            words = (*words, *self.command[0])
        return Start(unit, line, words, (), self.image)


def read_dockerfile(project: Project, path: str) -> Iterator[Start]:
    """Yield what the last stage runs, and what named stages run that state a command of their own."""
    all_stages = stages(project, path)
    for number, stage in enumerate(all_stages):
        is_last = number == len(all_stages) - 1
        if (is_last or stage.name) and (start := stage.start(stage.name or UNNAMED)):
            yield start


def stages(project: Project, path: str, context: str | None = None) -> list[Stage]:
    """Return the stages of a Dockerfile, built from a folder of the repository: the given or the likeliest one."""
    key = (path, context)
    if key not in project.stages:
        project.stages[key] = _read_stages(project, path, context)
    return project.stages[key]


def _read_stages(project: Project, path: str, context: str | None) -> list[Stage]:
    instructions = list(_instructions(project.sources.text(path)))
    if context is None:
        context = _likeliest_context(project, path, instructions)
    out: list[Stage] = []
    variables: dict[str, str] = {}
    for name, text, line in instructions:
        value = _expanded(text, variables)
        if name == "FROM":
            match = _FROM.match(value)
            base = next((stage for stage in out if match and stage.name == match[1]), None)
            image = base.image.copy() if base else Image(context=context)
            named = (match[2] or "") if match else ""
            entrypoint, command = (base.entrypoint, base.command) if base else (None, None)
            out.append(Stage(named, image, entrypoint, command, is_inherited=True))
        elif name in ("ARG", "ENV"):
            variables |= _assignments(name, value)
        elif out:
            out[-1] = _applied(project, out, name, value, line)
    return out


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the instructions of a Dockerfile with their lines; continuation lines are joined, heredocs left out."""
    lines = text.splitlines()
    position = count = 0
    while position < len(lines) and count < _MOST_INSTRUCTIONS:
        first, pieces = position + 1, []
        while position < len(lines):
            line = lines[position]
            position += 1
            if line.lstrip().startswith("#"):
                continue
            pieces.append(line.rstrip().removesuffix("\\").removesuffix("`"))
            if not line.rstrip().endswith(("\\", "`")):
                break
        if match := _INSTRUCTION.fullmatch(" ".join(pieces)):
            count += 1
            if heredoc := re.search(r"<<-?[\"']?(\w+)", match[2]):
                while position < len(lines) and lines[position].strip() != heredoc[1]:
                    position += 1
                position += 1
            yield match[1].upper(), match[2].strip(), first


def _assignments(name: str, value: str) -> dict[str, str]:
    if name == "ENV" and "=" not in value.partition(" ")[0]:
        key, _, rest = value.partition(" ")
        return {key: rest.strip()}
    return {match[1]: match[2] or match[3] or match[4] or "" for match in _ENVIRONMENT.finditer(value)}


def _expanded(text: str, variables: dict[str, str]) -> str:
    """Replace variables that have a value; others stay, so that no path with them resolves."""
    expanded = _VARIABLE.sub(lambda m: variables.get(m[1] or m[3]) or m[2] or m[0], text)
    return expanded if len(expanded) < 20_000 else text


def _words(value: str) -> str | tuple[str, ...]:
    """Return the words of the exec form, or the text of the shell form."""
    if value.startswith("["):
        try:
            words = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return tuple(words)
    return value


def _applied(project: Project, stages: list[Stage], name: str, value: str, line: int) -> Stage:
    """Return the current stage after an instruction."""
    stage = stages[-1]
    image = stage.image
    if name == "WORKDIR":
        image.folder = posixpath.normpath(posixpath.join(image.folder, value.strip("\"'")))
    elif name in ("COPY", "ADD"):
        _copy(project, stages, value)
    elif name == "RUN":
        _build(project, image, value)
    elif name == "CMD":
        return stage._replace(command=(_words(value), line), is_inherited=False)
    elif name == "ENTRYPOINT":
        return stage._replace(
            entrypoint=(_words(value), line), command=None if stage.is_inherited else stage.command
        )  # fmt: skip
    return stage


# Files


def _likeliest_context(project: Project, path: str, instructions: list[tuple[str, str, int]]) -> str:
    """Return the folder that most of the copied files are in: that of the Dockerfile, or one above."""
    copied = [
        source
        for name, text, _ in instructions
        if name in ("COPY", "ADD") and "--from" not in text
        for source in _copied(text)[0]
        if source not in (".", "./") and "$" not in source and "*" not in source
    ]
    folder = posixpath.dirname(path)
    candidates = [folder]
    while candidates[-1]:
        candidates.append(posixpath.dirname(candidates[-1]))

    def count(place: str) -> int:
        inside = (project.sources.inside(place, source.lstrip("/")) for source in copied)
        return sum(p is not None and (project.exists(p) or p in project.sources.folders) for p in inside)

    return max(candidates, key=lambda place: (count(place), place == folder)) if copied else folder


def _copied(value: str) -> tuple[list[str], str, str]:
    """Return the sources, the target and the stage of a COPY instruction."""
    options = re.match(r"(?:--\S+\s+)*", value)
    rest = value[options.end() :] if options else value
    words = _words(rest)
    parts = list(words) if isinstance(words, tuple) else rest.split()
    stage = re.search(r"--from=(\S+)", options[0]) if options else None
    return parts[:-1], parts[-1] if parts else "", stage[1] if stage else ""


def _copy(project: Project, stages: list[Stage], value: str) -> None:
    image = stages[-1].image
    sources, target, origin = _copied(value)
    place = posixpath.normpath(posixpath.join(image.folder, target))
    into_folder = len(sources) > 1 or target.endswith("/") or target in (".", "..")
    for source in sources:
        if len(image.mounts) + len(image.built) > _MOST_MOUNTS:
            return
        if origin:
            _copy_from_stage(project, stages, origin, source, place, into_folder)
        else:
            _copy_from_context(project, image, source, place, into_folder)


def _copy_from_context(project: Project, image: Image, source: str, place: str, into_folder: bool) -> None:
    inside = project.sources.inside(image.context, source.lstrip("/"))
    if inside is None or "$" in source:
        return
    if any(mark in inside for mark in "*?["):
        folder = posixpath.dirname(inside)
        matches = [path for path in project.sources.by_folder.get(folder, ()) if fnmatch(path, inside)]
        image.mounts += [(posixpath.join(place, posixpath.basename(path)), path) for path in matches[:_MOST_COPIED]]
    elif project.exists(inside):
        name = posixpath.basename(inside)
        image.mounts.append((posixpath.join(place, name) if into_folder else place, inside))
    else:
        image.mounts.append((place, inside))


def _copy_from_stage(
    project: Project, stages: list[Stage], origin: str, source: str, place: str, into_folder: bool
) -> None:
    """Copy what another stage has at a path: files of the repository and built programs."""
    image = stages[-1].image
    other = next((s for n, s in enumerate(stages[:-1]) if origin in (s.name, str(n))), None)
    if other is None:
        return
    path = posixpath.normpath(posixpath.join("/", source))
    target = posixpath.join(place, posixpath.basename(path)) if into_folder else place
    for mounted, repository_path in other.image.mounts[:_MOST_MOUNTS]:
        if mounted == path:
            image.mounts.append((target if project.exists(repository_path) else place, repository_path))
        elif mounted.startswith(f"{path.rstrip('/')}/"):
            image.mounts.append((place + mounted[len(path.rstrip("/")) :], repository_path))
        elif path.startswith(f"{mounted.rstrip('/')}/"):
            below = posixpath.normpath(posixpath.join(repository_path, path[len(mounted.rstrip("/")) + 1 :]))
            image.mounts.append((target if project.exists(below) else place, below))
    for built, entry in other.image.built.items():
        if built == path:
            image.built[target] = entry
        elif built.startswith(f"{path.rstrip('/')}/"):
            image.built[place + built[len(path.rstrip("/")) :]] = entry
    if (match := _RELEASE.search(path)) and (program := project.program(match[1])):
        image.built[target] = program


# Programs built in an image


def _build(project: Project, image: Image, text: str) -> None:
    """Record the programs that `go build` and `go install` make."""
    words = _words(text)
    commands = (
        [list(words)]
        if isinstance(words, tuple)
        else list(simple_commands(re.sub(r"--(?:mount|network)=\S+", "", text)))
    )
    place = image.copy()
    for command in commands:
        while command and re.match(r"[A-Za-z_]\w*=", command[0]):
            command = command[1:]
        if command[:1] == ["cd"] and len(command) == 2:
            place.folder = posixpath.normpath(posixpath.join(place.folder, command[1]))
        elif command[:2] in (["go", "build"], ["go", "install"]):
            for path, entry in _go_program(project, place, command[1:]):
                image.built[path] = entry


def _go_program(project: Project, image: Image, words: list[str]) -> Iterator[tuple[str, Entry]]:
    output, packages, position = "", list[str](), 1
    while position < len(words):
        word = words[position]
        if word == "-o":
            output, position = words[position + 1] if position + 1 < len(words) else "", position + 1
        elif word.startswith("-o="):
            output = word[3:]
        elif word.startswith("-"):
            # options with a separate value; those of one word contain `=`
            position += word in ("-ldflags", "-tags", "-gcflags", "-asmflags", "-mod", "-p")
        else:
            packages.append(word)
        position += 1
    for package in (packages or ["."])[:20]:
        sources = (source for source in image.sources(package))
        entry = next(filter(None, (project.go_package(source) for source in sources)), None)
        if entry is None:
            continue
        name = posixpath.basename(posixpath.normpath(posixpath.join(image.folder, package)))
        if words[0] == "install":
            yield f"/go/bin/{name}", entry
        elif output.endswith("/") or (output and len(packages) > 1):
            yield posixpath.normpath(posixpath.join(image.folder, output, name)), entry
        else:
            yield posixpath.normpath(posixpath.join(image.folder, output or name)), entry


READERS = {r"(?:.*/)?(?:[\w.-]+\.)?(?:Docker|Container)file(?:\.[\w.-]+)?": read_dockerfile}
