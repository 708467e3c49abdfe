"""Containers: commands of Dockerfiles, of Compose services, and of Kubernetes manifests.

The file system of an image is not rebuilt. A path in it stands for the file of the repository that COPY puts there under
another name, else for the one in the folder the image is built from whose path ends like it (see `commands.Call.places`).
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from assay.index.enrich.deployments.project import Project, Start
from assay.index.enrich.sources import Map, as_dict, as_list, as_text, at, texts_in

UNNAMED = "image"  # unit of the last stage, if it has no name
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?=\s)(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]{0,200}))?\}|(\w+))")
_ENVIRONMENT = re.compile(r"(\w+)(?:=(?:\"([^\"]*)\"|'([^']*)'|(\S*)))?")
_IS_MANIFEST = re.compile(r"^apiVersion:\s", re.MULTILINE)
_COMPOSE = r"(?:.*/)?(?:docker-)?compose[\w.-]*\.ya?ml"
_LONGEST_COMMAND = 20_000  # characters
_MOST_INSTRUCTIONS = 2_000
_MOST_COPIES = 200  # files copied to an image
_MOST_SERVICES = 200
_MOST_FOLDERS = 20  # that a service mounts
_MOST_OBJECTS = 500  # of a manifest
_MOST_CONTAINERS = 50  # of an object

Command = str | tuple[str, ...]  # shell text, or words


class Stage(NamedTuple):
    """A stage of a Dockerfile: what it runs, and what its paths refer to."""

    name: str
    folders: tuple[str, ...]  # of the repository that the image is built from, or that it mounts
    workdir: str = "/"
    copies: Mapping[str, str] = {}  # path in the image → what was copied there under another name
    entrypoint: Command = ()
    command: Command = ()
    line: int = 0

    def start(self, unit: str, line: int = 0, entrypoint: Command = (), command: Command = ()) -> Start | None:
        """Return what the stage runs: its entrypoint with the command as arguments, or one of them; others may be given."""
        first = entrypoint or self.entrypoint
        rest = command or ("" if entrypoint else self.command)
        if isinstance(rest, str) and isinstance(first, tuple) and first:
            rest = _words(rest)
        words: Command = (*first, *rest) if isinstance(first, tuple) and isinstance(rest, tuple) else first or rest
        return Start(unit, line or self.line, words, self.folders, self.workdir, self.copies) if words else None


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text[:_LONGEST_COMMAND]))
    except ValueError:
        return ()


# Dockerfiles


def read_dockerfile(project: Project, path: str) -> Iterator[Start]:
    """Yield what the last stage runs, and what named stages run."""
    in_order = stages(project, path)
    for stage in in_order:
        if (stage.name or stage is in_order[-1]) and (start := stage.start(stage.name or UNNAMED)):
            yield start


def stages(project: Project, path: str, context: str | None = None) -> list[Stage]:
    """Return the stages of a Dockerfile, built from a folder of the repository: the given or the likeliest one."""
    instructions = list(_instructions(project.sources.text(path)))
    if context is None:
        context = _likeliest_context(project, path, instructions)
    out: list[Stage] = []
    variables: dict[str, str] = {}
    for name, text, line in instructions:
        value = _expanded(text, variables)
        if name == "FROM":
            words = _without_options(value).split()
            base = next((stage for stage in out if words and stage.name == words[0]), Stage("", (context,)))
            out.append(base._replace(name=words[2] if len(words) > 2 else ""))
        elif name in ("ARG", "ENV"):
            variables |= _assignments(value)
        elif out:
            out[-1] = _applied(out[-1], name, value, line)
    return out


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the instructions of a Dockerfile with their lines; continuation lines are joined, heredocs left out."""
    pieces, first, heredoc, count = list[str](), 0, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if heredoc:
            heredoc = "" if line.strip() == heredoc else heredoc
            continue
        if line.lstrip().startswith("#") or not (line.strip() or pieces):
            continue
        first = first or number
        stripped = line.rstrip()
        pieces.append(stripped.removesuffix("\\").removesuffix("`"))
        if stripped.endswith(("\\", "`")):
            continue
        if (match := _INSTRUCTION.fullmatch(" ".join(pieces))) and count < _MOST_INSTRUCTIONS:
            count += 1
            marked = re.search(r"<<-?[\"']?(\w+)", match[2])
            heredoc = marked[1] if marked else ""
            yield match[1].upper(), match[2].strip(), first
        pieces, first = [], 0


def _assignments(value: str) -> dict[str, str]:
    """Return the variables that ARG or ENV sets."""
    if "=" not in value.partition(" ")[0]:
        key, _, rest = value.partition(" ")
        return {key: rest.strip()}
    return {match[1]: match[2] or match[3] or match[4] or "" for match in _ENVIRONMENT.finditer(value)}


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replace variables that have a value; others stay, so that no path with them resolves."""
    return _VARIABLE.sub(lambda m: variables.get(m[1] or m[3]) or m[2] or m[0], text)[:_LONGEST_COMMAND]


def _applied(stage: Stage, name: str, value: str, line: int) -> Stage:
    """Return a stage after an instruction."""
    if name == "WORKDIR":
        return stage._replace(workdir=posixpath.normpath(posixpath.join(stage.workdir, value.strip("\"'"))))
    if name in ("COPY", "ADD"):
        sources, target = _copied(value)
        place = posixpath.normpath(posixpath.join(stage.workdir, target))
        into_folder = len(sources) > 1 or target.endswith(("/", "."))
        named = {posixpath.join(place, posixpath.basename(s)) if into_folder else place: s for s in sources}
        return stage._replace(copies=dict(islice({**stage.copies, **named}.items(), _MOST_COPIES)))
    if name == "CMD":
        return stage._replace(command=_command(value), line=stage.line if stage.entrypoint else line)
    if name == "ENTRYPOINT":
        is_inherited = not stage.line or stage.entrypoint
        return stage._replace(entrypoint=_command(value), command=() if is_inherited else stage.command, line=line)
    return stage


def _command(value: str) -> Command:
    """Return the words of the exec form, or the text of the shell form."""
    try:
        words = json.loads(value) if value.startswith("[") else None
    except (ValueError, RecursionError):
        return value
    return tuple(words) if isinstance(words, list) and all(isinstance(word, str) for word in words) else value


def _without_options(value: str) -> str:
    """Return the arguments of an instruction after its options."""
    while value.startswith("--"):
        value = value.partition(" ")[2].lstrip()
    return value


def _copied(value: str) -> tuple[list[str], str]:
    """Return the sources and the target of a COPY instruction."""
    command = _command(_without_options(value))
    *sources, target = (*(command.split() if isinstance(command, str) else command), "")[:-1] or ("",)
    return sources, target


def _likeliest_context(project: Project, path: str, instructions: list[tuple[str, str, int]]) -> str:
    """Return the folder that most of the copied files are in: that of the Dockerfile, or one above."""
    copied = [
        source
        for name, text, _ in instructions
        if name in ("COPY", "ADD") and "--from" not in text
        for source in _copied(text)[0]
        if not re.search(r"[$*]|^\./?$", source)
    ]
    candidates = [posixpath.dirname(path)]
    while candidates[-1]:
        candidates.append(posixpath.dirname(candidates[-1]))

    def count(folder: str) -> int:
        inside = (project.sources.inside(folder, source.lstrip("/")) for source in copied)
        return sum(p is not None and (project.exists(p) or p in project.sources.folders) for p in inside)

    return max(candidates, key=lambda folder: (count(folder), folder == candidates[0]))


# Compose


def read_compose(project: Project, path: str) -> Iterator[Start]:
    for name, service in _services(project, path):
        built = _built(project, path, service)
        stage = built or Stage("", (posixpath.dirname(path),))
        for volume in as_list(service.get("volumes")):
            source = volume.partition(":")[0] if isinstance(volume, str) else as_text(at(volume, "source"))
            place = project.sources.inside(posixpath.dirname(path), source) if source.startswith(".") else None
            if place is not None:
                stage = stage._replace(folders=(*stage.folders, place)[:_MOST_FOLDERS])
        if folder := as_text(service.get("working_dir")):
            stage = stage._replace(workdir=folder)
        entrypoint, command = _stated(service.get("entrypoint")), _stated(service.get("command"))
        keys = [key for key in ("command", "entrypoint", "build") if key in service]
        line = service.line_of(keys[0]) if keys else service.line
        if start := stage.start(name, line, entrypoint, command):
            yield start


def _stated(value: Any) -> Command:
    return value if isinstance(value, str) else tuple(texts_in(value))


def _services(project: Project, path: str) -> Iterator[tuple[str, Map]]:
    for document in project.sources.yaml(path)[:1]:
        for name, service in list(as_dict(as_dict(document).get("services")).items())[:_MOST_SERVICES]:
            if isinstance(service, Map):
                yield name, service


def _built(project: Project, path: str, service: Map) -> Stage | None:
    """Return the stage of the image that a service is built from."""
    build = service.get("build")
    in_order = _stages_of_build(project, path, build) if build else []
    target = as_text(at(build, "target"))
    return next((stage for stage in in_order if target and stage.name == target), in_order[-1] if in_order else None)


def _stages_of_build(project: Project, path: str, build: Any) -> list[Stage]:
    """Return the stages of the Dockerfile that a `build` entry names; none if it is not in the repository."""
    stated = build if isinstance(build, str) else as_text(at(build, "context")) or "."
    context = project.sources.inside(posixpath.dirname(path), stated)
    if context is None:
        return []
    named = as_text(at(build, "dockerfile"))
    names = [project.sources.inside(context, named)] if named else []
    names += [posixpath.join(context, name) for name in ("Dockerfile", "Containerfile") if not named]
    dockerfile = next((name for name in names if name in project.sources.project_files), None)
    return stages(project, dockerfile, context) if dockerfile else []


# Kubernetes


def read_manifest(project: Project, path: str) -> Iterator[Start]:
    text = project.sources.text(path)
    if not (_IS_MANIFEST.search(text) and "containers" in text):
        return
    for document in _objects(project.sources.yaml(path)):
        kind, name = as_text(document.get("kind")), as_text(at(document, "metadata", "name"))
        spec = at(document, "spec", "jobTemplate", "spec") if kind == "CronJob" else document.get("spec")
        pod = at(spec, "template", "spec") or spec
        containers = [*as_list(at(pod, "initContainers")), *as_list(at(pod, "containers"))]
        for container in containers[:_MOST_CONTAINERS]:
            if isinstance(container, Map):
                own = as_text(container.get("name")) if len(containers) > 1 else ""
                yield from _container(project, "/".join(filter(None, (kind, name, own))), container)


def _objects(documents: list[Any]) -> Iterator[dict[str, Any]]:
    for document in documents[:_MOST_OBJECTS]:
        items = as_list(at(document, "items")) if at(document, "kind") == "List" else [document]
        yield from map(as_dict, items[:_MOST_OBJECTS])


def _container(project: Project, unit: str, container: Map) -> Iterator[Start]:
    stage = _stage_of(project, as_text(container.get("image"))) or Stage("", ("",))
    if folder := as_text(container.get("workingDir")):
        stage = stage._replace(workdir=folder)
    line = next(container.line_of(key) for key in ("command", "args", "image", "name") if key in (*container, "name"))
    command, arguments = texts_in(container.get("command")), texts_in(container.get("args"))
    if start := stage.start(unit, line, tuple(command), tuple(arguments)):
        yield start


def _stage_of(project: Project, image: str) -> Stage | None:
    """Return the last stage of the Dockerfile that makes an image; None unless exactly one is evident."""
    name = re.split("[:@]", posixpath.basename(image), maxsplit=1)[0]
    candidates = _images(project).get(name, [])
    return candidates[0] if len(candidates) == 1 else None


def _images(project: Project) -> dict[str, list[Stage]]:
    """Return the last stages of Dockerfiles by image: as a Compose or Skaffold file names it, else by their folder."""
    if not project.images:
        stated: dict[str, list[Stage]] = {}
        by_folder: dict[str, list[Stage]] = {"": []}
        for path in sorted(project.sources.project_files):
            for image, build in _stated_builds(project, path):
                stated.setdefault(posixpath.basename(image).partition(":")[0], []).extend(
                    _stages_of_build(project, path, build)[-1:]
                )
            folders = [part for part in path.split("/")[:-1] if part not in ("src", "docker", "build")]
            if posixpath.basename(path) == "Dockerfile" and folders:
                by_folder.setdefault(folders[-1], []).extend(stages(project, path)[-1:])
        project.images = by_folder | stated
    return project.images


def _stated_builds(project: Project, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the images that a Compose or Skaffold file builds, each with its `build` entry."""
    if re.fullmatch(_COMPOSE, path):
        for _, service in _services(project, path):
            if service.get("image") and service.get("build"):
                yield as_text(service.get("image")), service["build"]
    elif re.fullmatch(r"(?:.*/)?skaffold[\w.-]*\.ya?ml", path):
        for document in project.sources.yaml(path)[:_MOST_OBJECTS]:
            for artifact in as_list(at(document, "build", "artifacts"))[:_MOST_OBJECTS]:
                options = {"context": at(artifact, "context"), "dockerfile": at(artifact, "docker", "dockerfile")}
                yield as_text(at(artifact, "image")), options


READERS = {
    r"(?:.*/)?(?:[\w.-]+\.)?(?:Docker|Container)file(?:\.[\w.-]+)?": read_dockerfile,
    _COMPOSE: read_compose,
    r".*\.ya?ml": read_manifest,
}
