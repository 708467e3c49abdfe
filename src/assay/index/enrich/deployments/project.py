"""A repository as the commands of its deployments see it: files, modules, and programs that manifests declare."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from assay.index.enrich.manifests import Manifest
from assay.index.enrich.sources import Sources

if TYPE_CHECKING:
    from assay.index.enrich.deployments.containers import Stage

SURE, BY_CONVENTION = 1.0, 0.8  # confidence: the command names the file, or a convention of the tool leads to it
APPLICATION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)(?:\(.*\))?")  # `shop.wsgi:application`
_COMPILED = (".js", ".mjs", ".cjs")  # of scripts that may be compiled from another one
_ENDINGS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.js")
_BUILT = re.compile(r"(^|/)(?:dist|build|lib|out)/(?=[^/]|$)")


class Entry(NamedTuple):
    """An entry point: a path or `path::symbol`."""

    id: str
    confidence: float = SURE
    command: str = ""  # the simple command that starts it


class Start(NamedTuple):
    """A command that a deployment runs, and what its paths may refer to."""

    unit: str
    line: int
    command: str | tuple[str, ...]  # shell text, or words
    folders: tuple[str, ...] = ("",)  # of the repository, likeliest first: what relative paths start from
    workdir: str = (
        ""  # absolute working directory in an image or on a server, which has a copy of the folders somewhere
    )
    copies: Mapping[str, str] = {}  # path in an image → where that file was copied from


class Project:
    """The files and manifests of a repository, as commands refer to them."""

    def __init__(self, sources: Sources, manifests: Sequence[Manifest]) -> None:
        self.sources, self.manifests = sources, manifests
        self.images: dict[str, list[Stage]] = {}  # by name, see `containers`
        self._by_folder = {(m.ecosystem, m.folder): m for m in manifests}

    def exists(self, path: str) -> bool:
        return path in self.sources.paths

    def nearest(self, ecosystem: str, folder: str) -> Manifest | None:
        """Return the manifest of a folder or the nearest one above."""
        while True:
            if manifest := self._by_folder.get((ecosystem, folder)):
                return manifest
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Paths by their last component."""
        out: dict[str, list[str]] = {}
        for path in sorted(self.sources.paths):
            out.setdefault(posixpath.basename(path), []).append(path)
        return out

    def ending(self, suffix: str, folders: Sequence[str] = ("",)) -> str:
        """Return the path that ends so: the one in the first folder that has it, else the only one; else empty."""
        for folder in folders:
            for place in (folder, posixpath.join(folder, "src")):
                if self.exists(path := posixpath.join(place, suffix)):
                    return path
        matches = [p for p in self.by_name.get(posixpath.basename(suffix), ()) if p.endswith(f"/{suffix}")]
        return matches[0] if len(matches) == 1 else ""

    @cached_property
    def programs(self) -> dict[str, set[Entry]]:
        """Entry points of programs by name: those that manifests declare, and folders with Go's main file."""
        out: dict[str, set[Entry]] = {}
        for manifest in self.manifests:
            for name, target in manifest.programs.items():
                if entry := self._declared(manifest, target):
                    out.setdefault(name, set()).add(entry)
        for path in self.by_name.get("main.go", ()):
            if folder := posixpath.basename(posixpath.dirname(path)):
                out.setdefault(folder, set()).add(Entry(f"{path}::main", BY_CONVENTION))
        return out

    def _declared(self, manifest: Manifest, target: str) -> Entry | None:
        """Return the entry point of a program that a manifest declares."""
        if manifest.ecosystem == "python":
            match = APPLICATION.match(target)
            path = self.module(match[1], (manifest.folder,)) if match else ""
            return Entry(f"{path}::{match[2]}") if match and path else None
        if manifest.ecosystem == "maven":
            return self.java_class(target)
        path = posixpath.normpath(posixpath.join(manifest.folder, target))
        if manifest.ecosystem == "cargo":
            return Entry(f"{path}::main") if self.exists(path) else None
        return self.script(path)

    def program(self, name: str) -> Entry | None:
        """Return the entry point of a program of the repository; None unless exactly one has that name."""
        named = self.programs.get(name, set())
        return next(iter(named)) if len(named) == 1 and name != "." else None

    def module(self, dotted: str, folders: Sequence[str] = ("",), run: bool = False) -> str:
        """Return the file of a Python module; of a package, its `__init__`, or `__main__` if it is `run`."""
        place = dotted.replace(".", "/")
        package = f"{place}/{'__main__' if run else '__init__'}.py"
        return self.ending(f"{place}.py", folders) or self.ending(package, folders)

    def script(self, path: str) -> Entry | None:
        """Return a script by its path, or the source that a built one is made from (`dist/x.js`: `src/x.ts`)."""
        if self.exists(path):
            return Entry(path)
        is_built = path.endswith(_COMPILED) and _BUILT.search(path)
        unbuilt = [_BUILT.sub(rf"\1{source}", path, count=1) for source in ("src/", "")] if is_built else []
        for place in (path, *unbuilt):
            stem, suffix = posixpath.splitext(place)
            stems = [stem] if suffix in _COMPILED else [] if suffix else [place]
            candidates = [place, *(f"{stem}{ending}" for stem in stems for ending in _ENDINGS)]
            if source := next(filter(self.exists, candidates), ""):
                return Entry(source, BY_CONVENTION)
        return None

    def java_class(self, dotted: str, folders: Sequence[str] = ("",)) -> Entry | None:
        """Return the `main` method of a class."""
        place, name = dotted.replace(".", "/"), dotted.rpartition(".")[2]
        if path := self.ending(f"{place}.java", folders):
            return Entry(f"{path}::{name}.main")
        path = self.ending(f"{place}.kt", folders) or self.ending(f"{place.removesuffix('Kt')}.kt", folders)
        return Entry(f"{path}::main") if path else None

    @cached_property
    def _java_applications(self) -> list[str]:
        return [path for path in self.sources.paths if path.endswith(("Application.java", "Application.kt"))]

    def java_application(self, folder: str) -> Entry | None:
        """Return the application class of a module: the only one that is named so."""
        prefix = posixpath.join(folder, "src/main/")
        candidates = [path for path in self._java_applications if path.startswith(prefix)]
        if len(candidates) != 1:
            return None
        name, suffix = posixpath.splitext(posixpath.basename(candidates[0]))
        symbol = f"{name}.main" if suffix == ".java" else "main"
        return Entry(f"{candidates[0]}::{symbol}", BY_CONVENTION)

    def assembly(self, name: str) -> Entry | None:
        """Return the `Program` of the .NET project that makes an assembly."""
        projects = [m for m in self.manifests if m.ecosystem == "nuget" and _stem(m.path) == name.lower()]
        return self.dotnet_program(projects[0].folder) if len(projects) == 1 else None

    def dotnet_program(self, folder: str) -> Entry | None:
        paths = (posixpath.join(folder, name) for name in ("Program.cs", "Program.fs"))
        return next((Entry(path) for path in paths if self.exists(path)), None)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0].lower()
