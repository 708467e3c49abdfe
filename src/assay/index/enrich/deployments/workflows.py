"""Workflows of GitHub Actions and GitLab CI: the commands of their jobs."""

from __future__ import annotations

from collections.abc import Iterator

from assay.index.enrich.deployments.project import Project, Start
from assay.index.enrich.sources import Map, as_dict, as_list, as_text, at, texts_in

_MOST_JOBS = 200
_MOST_STEPS = 200  # per job
# keys of a GitLab file that are no jobs
_SETTINGS = frozenset({
    "image", "services", "stages", "variables", "cache", "include", "workflow", "default", "pages", "before_script", "after_script", "spec",
})  # fmt: skip


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


READERS = {r"\.github/workflows/[^/]+\.ya?ml": read_github, r"(?:.*/)?\.gitlab-ci\.yml": read_gitlab}
