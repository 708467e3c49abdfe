"""Kubernetes manifests: the commands of containers, and those of the images they run where a build names the image."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from assay.index.enrich.deployments import compose, docker
from assay.index.enrich.deployments.project import Image, Project, Start
from assay.index.enrich.sources import Map, as_dict, as_list, as_text, at, texts_in

# where the pod is in each kind
_PODS = {
    "Pod": ("spec",), "Deployment": ("spec", "template", "spec"), "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"), "ReplicaSet": ("spec", "template", "spec"), "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"), "Rollout": ("spec", "template", "spec"),
    "Service": ("spec", "template", "spec"),  # of Knative; that of Kubernetes has no pod
}  # fmt: skip
_IS_MANIFEST = re.compile(r"^apiVersion:\s", re.MULTILINE)
_MOST_OBJECTS = 500  # per file
_MOST_CONTAINERS = 50  # per object


def read_manifest(project: Project, path: str) -> Iterator[Start]:
    text = project.sources.text(path)
    if not (_IS_MANIFEST.search(text) and "containers" in text):
        return
    for document in _objects(project.sources.yaml(path)):
        kind, name = as_text(document.get("kind")), as_text(at(document, "metadata", "name"))
        pod = at(document, *_PODS.get(kind, ("", "")))
        containers = [*as_list(at(pod, "initContainers")), *as_list(at(pod, "containers"))]
        for container in containers[:_MOST_CONTAINERS]:
            if isinstance(container, Map):
                unit = f"{kind}/{name}"
                own = as_text(container.get("name"))
                if len(containers) > 1 and own:
                    unit += f"/{own}"
                yield from _started(project, unit, container)


def _objects(documents: list[Any]) -> Iterator[dict[str, Any]]:
    for document in documents[:_MOST_OBJECTS]:
        if at(document, "kind") == "List":
            yield from (as_dict(entry) for entry in as_list(document.get("items"))[:_MOST_OBJECTS])
        else:
            yield as_dict(document)


def _started(project: Project, unit: str, container: Map) -> Iterator[Start]:
    stage = _stage_of(project, as_text(container.get("image")))
    command, arguments = texts_in(container.get("command")), texts_in(container.get("args"))
    image = stage.image.copy() if stage else Image()
    if folder := as_text(container.get("workingDir")):
        image.folder = folder
    if command:
        yield Start(unit, container.line_of("command"), (*command, *arguments), (), image)
    elif stage:
        if arguments:
            stage = stage._replace(command=(tuple(arguments), container.line_of("args")))
        if start := stage.start(unit):
            yield start._replace(line=container.line_of("image"))


def _stage_of(project: Project, image: str) -> docker.Stage | None:
    """Return the last stage of the Dockerfile that makes an image; None unless exactly one is evident."""
    name = re.split("[:@]", posixpath.basename(image), maxsplit=1)[0]
    builds = _builds(project).get(name, [])
    if len(builds) != 1:
        return None
    stages = docker.stages(project, *builds[0])
    return stages[-1] if stages else None


def _builds(project: Project) -> dict[str, list[tuple[str, str | None]]]:
    """Return the Dockerfiles by the image they make: as a build file states it, else by the name of their folder."""
    if project.builds is not None:
        return project.builds
    stated: dict[str, set[tuple[str, str | None]]] = {}
    for path in sorted(project.sources.project_files):
        for image, built in _stated_builds(project, path):
            stated.setdefault(posixpath.basename(image).partition(":")[0], set()).add(built)
    folders: dict[str, set[tuple[str, str | None]]] = {}
    for path in project.sources.project_files:
        folder = posixpath.dirname(path)
        if posixpath.basename(path) == "Dockerfile" and folder:
            named = posixpath.basename(folder)
            named = posixpath.basename(posixpath.dirname(folder)) if named in ("src", "docker", "build") else named
            if named:
                folders.setdefault(named, set()).add((path, None))
    project.builds = {name: sorted(builds) for name, builds in (folders | stated).items()}
    return project.builds


def _stated_builds(project: Project, path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the images that a compose or Skaffold file builds, each with its Dockerfile and context."""
    if re.fullmatch(compose.PATTERN, path):
        for _, service in compose.services(project, path):
            image = as_text(service.get("image"))
            built = compose.dockerfile_of(path, service["build"], project) if "build" in service else None
            if image and built and "$" not in image:
                yield image, built
    elif re.fullmatch(r"(?:.*/)?skaffold[\w.-]*\.ya?ml", path):
        for document in project.sources.yaml(path)[:_MOST_OBJECTS]:
            for artifact in as_list(at(document, "build", "artifacts"))[:_MOST_OBJECTS]:
                options = {"context": at(artifact, "context"), "dockerfile": at(artifact, "docker", "dockerfile")}
                if built := compose.dockerfile_of(path, options, project):
                    yield as_text(at(artifact, "image")), built


READERS = {r".*\.ya?ml": read_manifest}
