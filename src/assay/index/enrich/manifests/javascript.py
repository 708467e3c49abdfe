"""JavaScript and TypeScript: package.json of npm, Yarn and pnpm, with workspaces by name and packages by path."""

from __future__ import annotations

import posixpath
import re

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, as_dict, as_text, line_of

_TABLES = {
    "dependencies": "", "devDependencies": "dev", "peerDependencies": "peer", "optionalDependencies": "optional",
}  # fmt: skip
_LOCAL = re.compile(r"(?:file|link|portal|workspace):(\.{1,2}/.*|\.{1,2}$)")
_ALIAS = re.compile(r"npm:((?:@[^/]+/)?[^@]+)(?:@(.*))?")


def read_package_json(sources: Sources, path: str) -> Manifest | None:
    content, text = sources.json(path), sources.text(path)
    manifest = Manifest(path, "npm", as_text(content.get("name")))
    for table, group in _TABLES.items():
        start = max(text.find(f'"{table}"'), 0)
        for name, constraint in as_dict(content.get(table)).items():
            stated = as_text(constraint)
            local, alias = _LOCAL.fullmatch(stated), _ALIAS.fullmatch(stated)
            target = _manifest_in(sources, manifest.folder, local[1]) if local else ""
            real, detail = (alias[1], alias[2] or "") if alias else (name, stated)
            detail = ", ".join(part for part in (detail, group) if part)
            manifest.dependencies.append(Dependency(real, detail, line_of(text, name, start), target))
    scripts = as_dict(content.get("scripts"))
    manifest.commands = {name: command for name, command in scripts.items() if isinstance(command, str)}
    programs = content.get("bin")
    if isinstance(programs, str) and manifest.name:
        programs = {manifest.name.rpartition("/")[2]: programs}
    manifest.programs = {name: value for name, value in as_dict(programs).items() if isinstance(value, str)}
    if main := as_text(content.get("main")):
        manifest.programs.setdefault(".", main)
    return manifest if manifest.name or manifest.dependencies or manifest.commands else None


def _manifest_in(sources: Sources, base: str, folder: str) -> str:
    place = sources.inside(base, folder)
    target = posixpath.join(place, "package.json") if place is not None else ""
    return target if target in sources.project_files else ""


READERS = {r"(?:.*/)?package\.json": read_package_json}
