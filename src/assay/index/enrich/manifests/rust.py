"""Rust: Cargo.toml with workspaces, packages by path, and binaries."""

from __future__ import annotations

import posixpath
from typing import Any

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, as_dict, as_list, as_text, at, line_of

_TABLES = {"dependencies": "", "dev-dependencies": "dev", "build-dependencies": "build"}


def read_cargo(sources: Sources, path: str) -> Manifest | None:
    content, text = sources.toml(path), sources.text(path)
    manifest = Manifest(path, "cargo", as_text(at(content, "package", "name")))
    tables = [(group, content.get(table), table) for table, group in _TABLES.items()]
    for target in as_dict(content.get("target")).values():
        tables += [(group, as_dict(target).get(table), table) for table, group in _TABLES.items()]
    for group, dependencies, table in tables:
        start = max(text.find(f"{table}]"), 0)
        for name, value in as_dict(dependencies).items():
            base, options = _inherited(sources, manifest.folder, name, value)
            constraint = as_text(options.get("version")) if options else as_text(value)
            target = _manifest_in(sources, base, as_text(options.get("path")))
            real = as_text(options.get("package")) or name
            detail = ", ".join(part for part in (constraint, group) if part)
            manifest.dependencies.append(Dependency(real, detail, line_of(text, name, start), target))
    manifest.programs = _programs(sources, manifest, content)
    return manifest if manifest.name or manifest.dependencies else None


def _inherited(sources: Sources, folder: str, name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """Return the options of a dependency and the folder that its path is relative to: its own, or the workspace's."""
    options = as_dict(value)
    if options.get("workspace") is not True:
        return folder, options
    while True:
        dependencies = at(sources.toml(posixpath.join(folder, "Cargo.toml")), "workspace", "dependencies")
        if dependencies is not None:
            stated = as_dict(dependencies).get(name)
            return folder, as_dict(stated) or {"version": as_text(stated)}
        if not folder:
            return folder, options
        folder = posixpath.dirname(folder)


def _manifest_in(sources: Sources, base: str, folder: str) -> str:
    place = sources.inside(base, folder) if folder else None
    target = posixpath.join(place, "Cargo.toml") if place is not None else ""
    return target if target in sources.project_files else ""


def _programs(sources: Sources, manifest: Manifest, content: dict[str, Any]) -> dict[str, str]:
    """Return the source of each binary, by Cargo's conventions and as declared."""
    out = {}
    for declared in as_list(content.get("bin")):
        name, path = as_text(as_dict(declared).get("name")), as_text(as_dict(declared).get("path"))
        if name:
            out[name] = path or f"src/bin/{name}.rs"
    for path in sources.by_folder.get(posixpath.join(manifest.folder, "src/bin"), ()):
        name, suffix = posixpath.splitext(posixpath.basename(path))
        if suffix == ".rs":
            out.setdefault(name, f"src/bin/{name}.rs")
    if manifest.name and posixpath.join(manifest.folder, "src/main.rs") in sources.paths:
        out.setdefault(manifest.name, "src/main.rs")
    return out


READERS = {r"(?:.*/)?Cargo\.toml": read_cargo}
