"""Programs: how each names, in its arguments, the entry point it starts. `PROGRAMS` is the table.

A handler takes a `Call` and yields the entry points; `run` starts another command line, for scripts that run scripts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from assay.index.enrich.deployments.project import APPLICATION, BY_CONVENTION, Entry, Project, Start, unbuilt

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class Call(NamedTuple):
    """A simple command in its surroundings."""

    project: Project
    arguments: tuple[str, ...]
    start: Start
    depth: int
    run: Callable[[Project, Start, int], Iterator[Entry]]

    def option(self, *names: str) -> str:
        """Return the value of an option, given as `-x value`, `-xvalue` or `--name=value`; empty without it."""
        for position, argument in enumerate(self.arguments):
            for name in names:
                if argument == name:
                    return self.arguments[position + 1] if position + 1 < len(self.arguments) else ""
                if name.startswith("--") and argument.startswith(f"{name}="):
                    return argument.removeprefix(f"{name}=")
                if len(name) == 2 and argument.startswith(name) and not argument.startswith("--"):
                    return argument.removeprefix(name)
        return ""

    def values(self, with_value: Sequence[str] = ()) -> Iterator[str]:
        """Yield the arguments that are no options, nor values of the options that take one."""
        skip = False
        for argument in self.arguments:
            if skip:
                skip = False
            elif argument.startswith("-") and argument != "-":
                skip = argument in with_value
            else:
                yield argument

    def first(self, with_value: Sequence[str] = ()) -> str:
        return next(self.values(with_value), "")

    def paths(self, path: str) -> Iterator[str]:
        """Yield the paths of the repository that a path of the command may be."""
        image = self.start.image
        if image:
            yield from image.sources(path)
        if not path.startswith(("/", "~", "$")):
            for folder in self.start.folders:
                if (place := self.project.sources.inside(folder, path)) is not None:
                    yield place

    def file(self, path: str) -> Entry | None:
        """Return the file at a path of the command."""
        if not path or len(path) > 500:
            return None
        places = (place for written in (path, *unbuilt(path)) for place in self.paths(written))
        return next(filter(None, map(self.project.script, places)), None)

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of the repository that the working directory may be."""
        image = self.start.image
        inside = tuple(p for p in image.sources(".") if p in self.project.sources.folders or not p) if image else ()
        return inside + self.start.folders


Handler = Callable[[Call], Iterator[Entry]]


def _python(call: Call) -> Iterator[Entry]:
    if module := call.option("-m"):
        rest = call.arguments[call.arguments.index("-m") + 2 :] if "-m" in call.arguments else ()
        if handler := handler_of(module):
            yield from handler(call._replace(arguments=rest))
        elif _DOTTED.fullmatch(module) and (path := call.project.module(module, call.folders, run=True)):
            yield Entry(path)
    elif "-c" not in call.arguments and (entry := call.file(call.first(("-W", "-X")))):
        yield entry


def _wsgi(call: Call) -> Iterator[Entry]:
    """Servers of Python applications: `gunicorn shop.wsgi:application`."""
    folders = call.folders
    if place := call.option("--chdir", "--app-dir", "--pythonpath"):
        folders = tuple(call.paths(place)) or folders
    for value in call.values():
        match = APPLICATION.fullmatch(value)
        if match and (path := call.project.module(match[1], folders)):
            yield Entry(f"{path}::{match[2]}")
            return
        if not match and _DOTTED.fullmatch(value) and "." in value and (path := call.project.module(value, folders)):
            yield Entry(path)
            return


def _celery(call: Call) -> Iterator[Entry]:
    stated = call.option("-A", "--app")
    module, _, name = stated.partition(":")
    if not _DOTTED.fullmatch(module):
        return
    head, _, last = module.rpartition(".")
    if path := call.project.module(module, call.folders):
        own = call.project.module(f"{module}.celery", call.folders)
        yield Entry(f"{path}::{name}") if name else Entry(own or path)
    elif head and (path := call.project.module(head, call.folders)):
        yield Entry(f"{path}::{last}")


def _flask(call: Call) -> Iterator[Entry]:
    module, _, name = call.option("--app", "-A").partition(":")
    if entry := call.file(module) if module.endswith(".py") else None:
        yield entry
    elif _DOTTED.fullmatch(module) and (path := call.project.module(module, call.folders)):
        yield Entry(f"{path}::{name}" if name else path)


def _fastapi(call: Call) -> Iterator[Entry]:
    path = next((value for value in call.values() if value.endswith(".py")), "")
    if entry := call.file(path):
        yield entry


_NODE_OPTIONS = ("-r", "--require", "--import", "--loader", "--env-file", "-P", "--project", "-C", "--conditions")


def _node(call: Call) -> Iterator[Entry]:
    values = [value for value in call.values(_NODE_OPTIONS) if value not in ("run", "watch")]
    if values and (entry := call.file(values[0])):
        yield entry


_NPM_BUILTIN = frozenset({
    "install", "ci", "i", "add", "exec", "dlx", "config", "cache", "publish", "pack", "link", "set", "audit", "version", "login", "init",
    "create", "why", "info", "list", "remove", "update", "up", "prune", "rebuild", "dedupe", "global", "workspaces", "x", "help",
})  # fmt: skip


def _package_script(call: Call) -> Iterator[Entry]:
    """Scripts of package.json: `npm run start`, `yarn start`, `pnpm --filter shop dev`."""
    words = list(call.values(("--prefix", "--cwd", "-C", "--dir", "--filter", "-F", "-w", "--workspace")))
    if words[:1] in (["run"], ["run-script"]):
        words = words[1:]
    if not words or words[0] in _NPM_BUILTIN:
        return
    folders = call.folders
    if place := call.option("--prefix", "--cwd", "-C", "--dir"):
        folders = tuple(call.paths(place))
    if package := call.option("--filter", "-F", "-w", "--workspace"):
        own = [m for m in call.project.manifests if m.ecosystem == "npm" and package in (m.name, m.folder)]
        folders = tuple(m.folder for m in own)
    for folder in folders:
        manifest = call.project.nearest("npm", folder)
        if manifest and (command := manifest.commands.get(words[0])):
            start = call.start._replace(command=command, folders=(manifest.folder,), image=None)
            yield from call.run(call.project, start, call.depth + 1)
            return
        if manifest and words[0] == "start" and (entry := call.project.script(posixpath.join(folder, "server.js"))):
            yield entry
            return


def _java(call: Call) -> Iterator[Entry]:
    if jar := call.option("-jar"):
        name = posixpath.basename(jar)
        if name.endswith(".jar"):
            name = re.split(r"-[\d*$]", name.removesuffix(".jar"), maxsplit=1)[0]
        modules = [
            m for m in call.project.manifests
            if m.ecosystem == "maven" and name in (m.name.rpartition(":")[2], posixpath.basename(m.folder))
        ]  # fmt: skip
        image = call.start.image
        folders = [m.folder for m in modules] or ([image.context] if image else list(call.start.folders))
        if len(folders) == 1 and (entry := call.project.java_application(folders[0])):
            yield entry
        return
    name = call.first(("-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-opens", "--add-modules"))
    if re.fullmatch(r"(?:[a-z]\w*\.)+[A-Z]\w*", name) and (entry := call.project.java_class(name, call.folders)):
        yield entry


def _dotnet(call: Call) -> Iterator[Entry]:
    value = call.first(("--project", "-p", "-c", "-f", "-o", "--configuration", "--framework", "--launch-profile"))
    if value.endswith(".dll"):
        if entry := call.project.assembly(posixpath.basename(value).removesuffix(".dll")):
            yield entry
    elif value in ("run", "watch"):
        stated = call.option("--project", "-p")
        for place in call.paths(stated or "."):
            folder = posixpath.dirname(place) if place.endswith("proj") else place
            if entry := call.project.dotnet_program(folder):
                yield entry
                return


def _go(call: Call) -> Iterator[Entry]:
    values = list(call.values(("-o", "-ldflags", "-tags", "-gcflags", "-mod", "-exec")))
    if values[:1] == ["run"] and len(values) > 1:
        for place in call.paths(values[1]):
            if entry := call.project.go_package(place.removesuffix("/.")):
                yield entry
                return


def _cargo(call: Call) -> Iterator[Entry]:
    if "run" not in call.arguments:
        return
    name = call.option("--bin") or call.option("-p", "--package")
    if not name:
        own = {m.name for folder in call.folders if (m := call.project.nearest("cargo", folder)) and m.programs}
        name = own.pop() if len(own) == 1 else ""
    if name and (entry := call.project.program(name)):
        yield entry


def _shell(call: Call) -> Iterator[Entry]:
    for position, argument in enumerate(call.arguments):
        if argument.startswith("-") and "c" in argument[1:] and not argument.startswith("--"):
            text = call.arguments[position + 1] if position + 1 < len(call.arguments) else ""
            yield from call.run(call.project, call.start._replace(command=text), call.depth + 1)
            return
    if entry := call.file(call.first(("-o",))):
        yield entry


def _file(call: Call) -> Iterator[Entry]:
    if entry := call.file(call.first()):
        yield entry


def _by_convention(*names: str) -> Handler:
    """Return a handler for servers that load a file of a fixed name in the working directory."""

    def handle(call: Call) -> Iterator[Entry]:
        for name in names:
            if entry := call.file(name):
                yield Entry(entry.id, BY_CONVENTION)
                return

    return handle


PROGRAMS: dict[str, Handler] = {
    r"(?:python|pypy)[\d.]*": _python,
    r"gunicorn|uvicorn|hypercorn|daphne|granian|waitress-serve": _wsgi,
    r"celery": _celery,
    r"flask": _flask,
    r"fastapi": _fastapi,
    r"node|nodejs|ts-node(?:-dev)?|tsx|nodemon|bun|deno": _node,
    r"npm|yarn|pnpm": _package_script,
    r"java": _java,
    r"dotnet": _dotnet,
    r"go": _go,
    r"cargo": _cargo,
    r"sh|bash|ash|dash|zsh|ksh": _shell,
    r"ruby|php|perl|lua": _file,
    r"puma|unicorn|rackup|thin|falcon": _by_convention("config.ru"),
    r"rails|sidekiq": _by_convention("config/environment.rb"),
    r"rake": _by_convention("Rakefile"),
}  # the first match counts


def handler_of(program: str) -> Handler | None:
    """Return the handler of a program; None if nothing is known about its arguments."""
    return next((handler for pattern, handler in PROGRAMS.items() if re.fullmatch(pattern, program)), None)
