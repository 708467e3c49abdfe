"""Compose files: the command of every service, its own or that of the image it is built from."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator
from typing import Any

from assay.index.enrich.deployments import docker
from assay.index.enrich.deployments.project import Image, Project, Start
from assay.index.enrich.sources import Map, as_dict, as_list, as_text, texts_in

_MOST_SERVICES = 200
_LONGEST_COMMAND = 20_000  # characters
PATTERN = r"(?:.*/)?(?:docker-)?compose[\w.-]*\.ya?ml"


def read_compose(project: Project, path: str) -> Iterator[Start]:
    for name, service in services(project, path):
        line = _line(service, "command", "entrypoint", "build")
        stage = _built_stage(project, path, service)
        image = stage.image.copy() if stage else Image()
        _mount_volumes(project, image, posixpath.dirname(path), service)
        if folder := as_text(service.get("working_dir")):
            image.folder = folder
        entrypoint, command = _command(service.get("entrypoint")), _command(service.get("command"))
        if stage and not entrypoint and command:
            entrypoint = stage.entrypoint[0] if stage.entrypoint else ()
        if entrypoint and isinstance(entrypoint, tuple) and isinstance(command, str) and command:
            yield Start(name, line, (*entrypoint, *_words(command)), (), image)
        elif isinstance(entrypoint, tuple) and isinstance(command, tuple) and (entrypoint or command):
            yield Start(name, line, (*entrypoint, *command), (), image)
        elif entrypoint or command:
            yield Start(name, line, command or entrypoint, (), image)
        elif stage and (start := stage.start(name)):
            yield start._replace(line=line, image=image)


def _words(text: str) -> list[str]:
    """Return the words of a command, as Compose divides a text; none if a quote is not closed."""
    try:
        return shlex.split(text[:_LONGEST_COMMAND])
    except ValueError:
        return []


def services(project: Project, path: str) -> Iterator[tuple[str, Map]]:
    """Yield the services of a compose file by name."""
    for document in project.sources.yaml(path)[:1]:
        for name, service in list(as_dict(as_dict(document).get("services")).items())[:_MOST_SERVICES]:
            if isinstance(service, Map):
                yield name, service


def dockerfile_of(path: str, build: Any, project: Project) -> tuple[str, str] | None:
    """Return the Dockerfile that a `build` entry names and its context; None if it is not in the repository."""
    options = as_dict(build)
    stated = build if isinstance(build, str) else as_text(options.get("context")) or "."
    context = project.sources.inside(posixpath.dirname(path), stated)
    if context is None:
        return None
    named = as_text(options.get("dockerfile"))
    candidates = [project.sources.inside(context, named)] if named else []
    candidates += [posixpath.join(context, name) for name in ("Dockerfile", "Containerfile") if not named]
    dockerfile = next((place for place in candidates if place and place in project.sources.project_files), None)
    return (dockerfile, context) if dockerfile else None


def _built_stage(project: Project, path: str, service: Map) -> docker.Stage | None:
    """Return the stage of the image that a service is built from."""
    if "build" not in service or (built := dockerfile_of(path, service["build"], project)) is None:
        return None
    stages = docker.stages(project, *built)
    target = as_text(as_dict(service["build"]).get("target"))
    named = [stage for stage in stages if target and stage.name == target]
    return named[0] if named else stages[-1] if stages else None


def _mount_volumes(project: Project, image: Image, folder: str, service: Map) -> None:
    """Add the folders of the repository that a service mounts."""
    for volume in as_list(service.get("volumes")):
        source, _, rest = volume.partition(":") if isinstance(volume, str) else ("", "", "")
        target = rest.partition(":")[0]
        if isinstance(volume, Map) and volume.get("type") == "bind":
            source, target = as_text(volume.get("source")), as_text(volume.get("target"))
        place = project.sources.inside(folder, source) if source.startswith(".") else None
        if place is not None and target.startswith("/"):
            image.mounts.append((posixpath.normpath(target), place))


def _command(value: Any) -> str | tuple[str, ...]:
    return value if isinstance(value, str) else tuple(texts_in(value))


def _line(service: Map, *keys: str) -> int:
    return next((service.line_of(key) for key in keys if key in service), service.line)


READERS = {PATTERN: read_compose}
