"""Commands outside containers: workflows of GitHub Actions and GitLab CI, Procfiles, service units of systemd."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from assay.index.enrich.deployments.project import Project, Start
from assay.index.enrich.sources import Map, as_dict, as_list, as_text, at, texts_in

_MOST_JOBS = 200
_MOST_STEPS = 200  # per job
# keys of a GitLab file that are no jobs
_SETTINGS = frozenset({
    "image", "services", "stages", "variables", "cache", "include", "workflow", "default", "pages", "before_script", "after_script", "spec",
})  # fmt: skip
_PROCESS = re.compile(r"([\w-]+):\s*(\S.*)")
_UNIT_PREFIX = re.compile(r"[-@:+!]+")  # of a command in a service unit


def read_github(project: Project, path: str) -> Iterator[Start]:
    for document in project.sources.yaml(path)[:1]:
        jobs = as_dict(as_dict(document).get("jobs"))
        general = as_text(at(document, "defaults", "run", "working-directory"))
        for name, job in list(jobs.items())[:_MOST_JOBS]:
            folder = as_text(at(job, "defaults", "run", "working-directory")) or general
            for step in as_list(as_dict(job).get("steps"))[:_MOST_STEPS]:
                if isinstance(step, Map) and (command := as_text(step.get("run"))):
                    place = project.sources.inside("", as_text(step.get("working-directory")) or folder or ".")
                    yield Start(name, step.line_of("run"), command, () if place is None else (place,))


def read_gitlab(project: Project, path: str) -> Iterator[Start]:
    for document in project.sources.yaml(path)[:1]:
        for name, job in list(as_dict(document).items())[:_MOST_JOBS]:
            if name in _SETTINGS or name.startswith(".") or not isinstance(job, Map):  # a dot hides a template
                continue
            for key in ("before_script", "script", "after_script"):
                stated = job.get(key)
                commands = [stated] if isinstance(stated, str) else texts_in(stated)
                yield Start(name, job.line_of(key), "\n".join(commands))


def read_procfile(project: Project, path: str) -> Iterator[Start]:
    for number, line in enumerate(project.sources.text(path).splitlines(), 1):
        if match := _PROCESS.fullmatch(line.strip()):
            yield Start(match[1], number, match[2], (posixpath.dirname(path),))


def read_unit(project: Project, path: str) -> Iterator[Start]:
    """Yield the commands of a service unit. Its working directory is taken for a checkout of the repository."""
    section = folder = ""
    commands: list[tuple[int, str]] = []
    text = re.sub(r"\\\r?\n", "  ", project.sources.text(path))
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        key, _, value = map(str.strip, line.partition("="))
        if line.startswith("["):
            section = line
        elif section == "[Service]" and key == "WorkingDirectory":
            folder = value.lstrip("-")
        elif section == "[Service]" and key == "ExecStart":
            commands.append((number, _UNIT_PREFIX.sub("", value, count=1) if _UNIT_PREFIX.match(value) else value))
    for number, command in commands:
        yield Start(posixpath.basename(path), number, command, workdir=folder if folder.startswith("/") else "")


READERS = {
    r"\.github/workflows/[^/]+\.ya?ml": read_github,
    r"(?:.*/)?\.gitlab-ci\.yml": read_gitlab,
    r"(?:.*/)?Procfile(?:\.\w+)?": read_procfile,
    r"(?:.*/)?[\w@.-]+\.service": read_unit,
}
