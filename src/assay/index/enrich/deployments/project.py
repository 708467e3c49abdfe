"""A repository as the commands of its deployments see it: files, programs that manifests declare, container images."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from assay.index.enrich.manifests import Manifest
from assay.index.enrich.sources import Sources

if TYPE_CHECKING:
    from assay.index.enrich.deployments.docker import Stage

SURE, BY_CONVENTION = 1.0, 0.8  # confidence: the command names the file, or a convention of the tool leads to it
APPLICATION = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)(?:\(.*\))?")  # `shop.wsgi:application`
_COMPILED = (".js", ".mjs", ".cjs")  # of scripts that may be compiled from another one
_ENDINGS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.js")
_BUILT = re.compile(r"(^|/)(?:dist|build|lib|out)/(?=[^/]|$)")


def unbuilt(path: str) -> list[str]:
    """Return where the source of a compiled script may be: `dist/x.js` is made from `src/x` or `x`."""
    if not path.endswith(_COMPILED) or not _BUILT.search(path):
        return []
    return [_BUILT.sub(r"\1src/", path, count=1), _BUILT.sub(r"\1", path, count=1)]


class Entry(NamedTuple):
    """An entry point: a path or `path::symbol`."""

    id: str
    confidence: float = SURE
    command: str = ""  # the simple command that starts it


@dataclass(slots=True)
class Image:
    """The file system of a container: what of the repository is copied where, and programs built in it."""

    mounts: list[tuple[str, str]] = field(
        default_factory=list
    )  # absolute path → path of the repository; later ones win
    built: dict[str, Entry] = field(default_factory=dict)  # absolute path of a program → its entry point
    folder: str = "/"  # working directory
    context: str = ""  # folder of the repository that is copied from

    def copy(self) -> Image:
        return Image(list(self.mounts), dict(self.built), self.folder, self.context)

    def sources(self, path: str) -> Iterator[str]:
        """Yield the paths of the repository that may be at a path of the image, likeliest first."""
        place = posixpath.normpath(posixpath.join(self.folder, path))
        for target, source in reversed(self.mounts):
            if place == target:
                yield source
            elif target == "/" or place.startswith(f"{target}/"):
                yield posixpath.normpath(posixpath.join(source, place[len(target.rstrip("/")) + 1 :])).removeprefix(".")


class Start(NamedTuple):
    """A command that a deployment runs, with the folders that relative paths may refer to, likeliest first."""

    unit: str
    line: int
    command: str | tuple[str, ...]  # shell text, or words
    folders: tuple[str, ...] = ("",)
    image: Image | None = None


class Project:
    """The files and manifests of a repository, as commands refer to them."""

    def __init__(self, sources: Sources, manifests: Sequence[Manifest]) -> None:
        self.sources, self.manifests = sources, manifests
        self._by_folder = {(m.ecosystem, m.folder): m for m in manifests}
        self.stages: dict[tuple[str, str | None], list[Stage]] = {}  # of Dockerfiles by path and context, see `docker`
        self.builds: dict[str, list[tuple[str, str | None]]] | None = None  # images, see `kubernetes`

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
    def programs(self) -> dict[str, list[Entry]]:
        """Entry points of the programs that manifests declare, by name."""
        out: dict[str, list[Entry]] = {}
        for manifest in self.manifests:
            for name, target in manifest.programs.items():
                if entry := self._program(manifest, target):
                    out.setdefault(name, []).append(entry)
        return out

    def _program(self, manifest: Manifest, target: str) -> Entry | None:
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
        named = self.programs.get(name, [])
        return named[0] if len(named) == 1 and name != "." else None

    def module(self, dotted: str, folders: Sequence[str] = ("",), run: bool = False) -> str:
        """Return the file of a Python module; of a package, its `__init__`, or `__main__` if it is `run`."""
        place = dotted.replace(".", "/")
        package = f"{place}/{'__main__' if run else '__init__'}.py"
        return self.ending(f"{place}.py", folders) or self.ending(package, folders)

    def script(self, path: str) -> Entry | None:
        """Return a script by its path, or the source that a built one is made from (`dist/x.js`: `src/x.ts`)."""
        if self.exists(path):
            return Entry(path)
        for place in (path, *unbuilt(path)):
            stem, suffix = posixpath.splitext(place)
            stems = [stem] if suffix in _COMPILED else [place] if not suffix else []
            candidates = (f"{stem}{ending}" for stem in stems for ending in _ENDINGS)
            if source := next(filter(self.exists, candidates), ""):
                return Entry(source, BY_CONVENTION)
        return None

    def go_package(self, folder: str) -> Entry | None:
        """Return the `main` function of a Go package."""
        if self.exists(path := posixpath.join(folder, "main.go")):
            return Entry(f"{path}::main")
        if self.exists(folder) and folder.endswith(".go"):
            return Entry(f"{folder}::main")
        own = self.sources.by_folder.get(folder, ())
        files = [path for path in own if path.endswith(".go") and not path.endswith("_test.go")]
        return Entry(f"{files[0]}::main") if len(files) == 1 else None

    def java_class(self, dotted: str, folders: Sequence[str] = ("",)) -> Entry | None:
        """Return the `main` method of a class."""
        name = dotted.rpartition(".")[2]
        for suffix in (".java", ".kt"):
            path = self.ending(dotted.replace(".", "/") + suffix, folders)
            if not path and suffix == ".kt":
                path = self.ending(dotted.removesuffix("Kt").replace(".", "/") + suffix, folders)
            if path:
                return Entry(f"{path}::{name}.main" if suffix == ".java" else f"{path}::main")
        return None

    @cached_property
    def _java_applications(self) -> list[str]:
        return sorted(path for path in self.sources.paths if path.endswith(("Application.java", "Application.kt")))

    def java_application(self, folder: str) -> Entry | None:
        """Return the application class of a module: the only one that is named so."""
        prefix = posixpath.join(folder, "src/main/")
        candidates = [path for path in self._java_applications if path.startswith(prefix)]
        if len(candidates) != 1:
            return None
        (path,) = candidates
        name, suffix = posixpath.splitext(posixpath.basename(path))
        return Entry(f"{path}::{name}.main" if suffix == ".java" else f"{path}::main", BY_CONVENTION)

    def assembly(self, name: str) -> Entry | None:
        """Return the `Program` of the .NET project that makes an assembly."""
        projects = [
            m for m in self.manifests
            if m.ecosystem == "nuget" and posixpath.splitext(posixpath.basename(m.path))[0].lower() == name.lower()
        ]  # fmt: skip
        return self.dotnet_program(projects[0].folder) if len(projects) == 1 else None

    def dotnet_program(self, folder: str) -> Entry | None:
        for name in ("Program.cs", "Program.fs"):
            if self.exists(path := posixpath.join(folder, name)):
                return Entry(path)
        return None
