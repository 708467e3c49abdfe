"""Command lines: the file or function of the repository that a command starts.

A command line is divided into simple commands, and wrappers (`exec`, `poetry run`, `dumb-init`) are taken off. `PROGRAMS`
says how the arguments of a program name an entry point; any other program may itself be one of the repository.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from assay.index.enrich.deployments.project import APPLICATION, BY_CONVENTION, Entry, Project, Start

_MOST_INDIRECTIONS = 4  # commands that run commands
_LONGEST_COMMAND = 20_000  # characters of a shell text
_MOST_COMMANDS = 200  # simple commands of a shell text
_LONGEST_PATH = 500

# wrapper → number of arguments of its own after options
_WRAPPERS = {"gosu": 1, "su-exec": 1, "timeout": 1} | dict.fromkeys((
    "exec", "env", "sudo", "nohup", "time", "nice", "dumb-init", "tini", "command", "catchsegv", "npx", "bunx", "xvfb-run",
    "opentelemetry-instrument", "ddtrace-run", "setpriv", "wait-for-it", "wait-for-it.sh", "stdbuf", "chronic",
), 0)  # fmt: skip
# program and subcommand whose remaining arguments are a command
_RUNNERS = frozenset({
    ("poetry", "run"), ("uv", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("bundle", "exec"),
    ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("coverage", "run"), ("newrelic-admin", "run-program"), ("heroku", "local"),
})  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTION = re.compile(r"\d?[<>]{1,3}&?")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_JAVA_CLASS = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*")
# options whose value is the next word, so that it is not taken for the first argument
_OPTIONS_WITH_VALUE = frozenset({
    "-W", "-X", "-r", "--require", "--import", "--loader", "--env-file", "-P", "--conditions", "-ldflags", "-tags", "-gcflags",
    "-mod", "-exec", "-o", "-c", "-f", "-p", "--configuration", "--framework", "--launch-profile", "-cp", "-classpath",
    "--class-path", "--module-path", "--add-opens", "--add-modules", "--prefix", "--cwd", "-C", "--dir", "--filter", "-F", "-w",
    "--workspace",
})  # fmt: skip


def simple_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of the simple commands of a shell text; lines that cannot be divided are left out."""
    number = 0
    for line in re.sub(r"\\\r?\n", " ", text[:_LONGEST_COMMAND]).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            words = list(lexer)
        except ValueError:
            continue
        command: list[str] = []
        for word in [*_without_redirections(words), ";"]:
            if word.startswith("#"):
                break
            if word.strip("();|&"):
                command.append(word)
            elif word:
                if command and number < _MOST_COMMANDS:
                    number += 1
                    yield command
                command = []


def _without_redirections(words: list[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if match := _REDIRECTION.match(word):
            skip = match[0] == word  # its file is the next word
        elif skip:
            skip = False
        else:
            yield word


def entries(project: Project, start: Start, depth: int = 0) -> Iterator[Entry]:
    """Yield the entry points that a command starts, each once."""
    seen = set()
    commands = [list(start.command)] if isinstance(start.command, tuple) else simple_commands(start.command)
    for words in commands:
        if words[:1] == ["cd"] and len(words) == 2:
            start = _moved(start, words[1])
            continue
        for entry in _started(Call(project, start, tuple(words), depth)):
            if entry.id not in seen:
                seen.add(entry.id)
                yield entry._replace(command=shlex.join(words))


def _moved(start: Start, folder: str) -> Start:
    """Return a start after `cd FOLDER`."""
    if start.workdir:
        return start._replace(workdir=posixpath.normpath(posixpath.join(start.workdir, folder)))
    moved = (posixpath.normpath(posixpath.join(place, folder)).removeprefix(".") for place in start.folders)
    return start._replace(folders=() if folder.startswith(("/", "$", "~")) else tuple(moved))


class Call(NamedTuple):
    """A simple command in its surroundings."""

    project: Project
    start: Start
    words: tuple[str, ...]
    depth: int

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    def option(self, *names: str) -> str:
        """Return the value of an option, given as `-x value`, `-xvalue` or `--name=value`; empty without it."""
        for position, argument in enumerate(self.arguments):
            for name in names:
                if argument == name:
                    return next(iter(self.arguments[position + 1 :]), "")
                if name.startswith("--") and argument.startswith(f"{name}="):
                    return argument.removeprefix(f"{name}=")
                if len(name) == 2 and argument.startswith(name) and not argument.startswith("--"):
                    return argument.removeprefix(name)
        return ""

    def values(self) -> Iterator[str]:
        """Yield the arguments that are no options, nor values of the options that take one."""
        skip = False
        for argument in self.arguments:
            if skip:
                skip = False
            elif argument.startswith("-") and argument != "-":
                skip = argument in _OPTIONS_WITH_VALUE
            else:
                yield argument

    def places(self, path: str) -> Iterator[str]:
        """Yield the paths of the repository that a path of the command may be, likeliest first.

        What an image or a server has at an absolute path is a copy: of the file that is known to be copied there, else of
        the one whose path ends like it.
        """
        if len(path) > _LONGEST_PATH or path.startswith(("~", "$")):
            return
        firsts = 1
        if self.start.workdir:
            path = posixpath.normpath(posixpath.join(self.start.workdir, path))
            path = self.start.copies.get(path, path)
            path = path.strip("/")
            firsts = path.count("/") + 1
        parts = path.split("/")
        for first in range(firsts):
            for folder in self.start.folders:
                if (place := self.project.sources.inside(folder, "/".join(parts[first:]))) is not None:
                    yield place

    def folders(self, path: str = ".") -> tuple[str, ...]:
        """Return the folders of the repository that a path of the command may be; the working directory without one."""
        inside = (place for place in self.places(path) if place in self.project.sources.folders)
        return (*dict.fromkeys(inside), *self.start.folders)

    def file(self, path: str) -> Entry | None:
        """Return the file at a path of the command."""
        return next(filter(None, map(self.project.script, self.places(path))), None) if path else None


def _started(call: Call) -> Iterator[Entry]:
    """Yield what a simple command starts, after taking off assignments and wrappers."""
    words = call.words
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif (name := posixpath.basename(words[0])) in _WRAPPERS:
            words = _unwrapped(words[1:], _WRAPPERS[name])
        elif (name, *words[1:2]) in _RUNNERS:
            words = _unwrapped(words[2:], 0)
        else:
            break
    if not words or call.depth > _MOST_INDIRECTIONS:
        return
    call = call._replace(words=words)
    program = posixpath.basename(words[0])
    if (starter := starter_of(program)) is not None:
        yield from starter(call)
        return
    copied = posixpath.basename(call.start.copies.get(words[0], words[0]))
    is_path = "/" in words[0] or "." in words[0]
    entry = (call.file(words[0]) if is_path else None) or call.project.program(copied) or call.project.program(program)
    if entry:
        yield entry
        if "entrypoint" in program:  # a script that usually runs its arguments
            yield from _started(call._replace(words=words[1:], depth=call.depth + 1))


def _unwrapped(words: Sequence[str], own: int) -> tuple[str, ...]:
    """Return the command that a wrapper runs, after the wrapper's options and arguments of its own."""
    rest = list(words)
    if "--" in rest[:8]:
        return tuple(rest[rest.index("--") + 1 :])
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0])):
        rest.pop(0)
    return tuple(rest[own:])


# Programs


Starter = Callable[[Call], Iterator[Entry]]


def _script(call: Call) -> Iterator[Entry]:
    """Yield the first argument: a file."""
    value = next((value for value in call.values() if value not in ("run", "watch")), "")
    if entry := call.file(value):
        yield entry


def _python(call: Call) -> Iterator[Entry]:
    module = call.option("-m")
    if module and (starter := starter_of(module)):
        at = call.words.index("-m") if "-m" in call.words else 0
        yield from starter(call._replace(words=call.words[at + 1 :]))
    elif module and _DOTTED.fullmatch(module):
        if path := call.project.module(module, call.folders(), run=True):
            yield Entry(path)
    elif "-c" not in call.arguments:
        yield from _script(call)


def _application(call: Call) -> Iterator[Entry]:
    """Yield the application that a server of Python loads: `gunicorn shop.wsgi:application`, `celery -A shop.tasks`."""
    stated = call.option("-A", "--app")
    folder = call.option("--chdir", "--app-dir", "--pythonpath", "--workdir")
    folders = call.folders(folder or ".")
    for value in [stated] if stated else call.values():
        match = APPLICATION.fullmatch(value)
        if value.endswith(".py") and (entry := call.file(value)):
            yield entry
        elif match and (path := call.project.module(match[1], folders)):
            yield Entry(f"{path}::{match[2]}")
        elif _DOTTED.fullmatch(value) and (stated or "." in value) and (path := _module(call, value, folders)):
            yield Entry(path)
        else:
            continue
        return


def _module(call: Call, dotted: str, folders: Sequence[str]) -> str:
    """Return the file of a module with an application, or its attribute: `shop.celery`, `shop.tasks.app`."""
    if own := call.project.module(f"{dotted}.celery", folders) or call.project.module(dotted, folders):
        return own
    head, _, last = dotted.rpartition(".")
    path = call.project.module(head, folders) if head else ""
    return f"{path}::{last}" if path else ""


_NPM_BUILTIN = frozenset({
    "install", "ci", "i", "add", "exec", "dlx", "config", "cache", "publish", "pack", "link", "set", "audit", "version", "login", "init",
    "create", "why", "info", "list", "remove", "update", "up", "prune", "rebuild", "dedupe", "global", "workspaces", "x", "help",
})  # fmt: skip


def _package_script(call: Call) -> Iterator[Entry]:
    """Yield what a script of package.json starts: `npm run start`, `yarn start`, `pnpm --filter shop dev`."""
    name = next((value for value in call.values() if value not in ("run", "run-script")), "")
    if not name or name in _NPM_BUILTIN:
        return
    folder = call.option("--prefix", "--cwd", "-C", "--dir")
    folders = call.folders(folder or ".")
    if package := call.option("--filter", "-F", "-w", "--workspace"):
        manifests = call.project.manifests
        folders = tuple(m.folder for m in manifests if m.ecosystem == "npm" and package in (m.name, m.folder))
    for folder in folders:
        manifest = call.project.nearest("npm", folder)
        if manifest and (command := manifest.commands.get(name)):
            start = call.start._replace(command=command, folders=(manifest.folder,), workdir="")
            yield from entries(call.project, start, call.depth + 1)
            return
        if manifest and name == "start" and (entry := call.project.script(posixpath.join(folder, "server.js"))):
            yield entry
            return


def _java(call: Call) -> Iterator[Entry]:
    if jar := posixpath.basename(call.option("-jar")):
        name = re.split(r"-[\d*$]", jar.removesuffix(".jar"), maxsplit=1)[0]
        folders = [
            m.folder for m in call.project.manifests
            if m.ecosystem == "maven" and name in (m.name.rpartition(":")[2], posixpath.basename(m.folder))
        ] or list(call.start.folders[:1])  # fmt: skip
        if len(folders) == 1 and (entry := call.project.java_application(folders[0])):
            yield entry
        return
    name = next(call.values(), "")
    if _JAVA_CLASS.fullmatch(name) and (entry := call.project.java_class(name, call.folders())):
        yield entry


def _dotnet(call: Call) -> Iterator[Entry]:
    value = next(call.values(), "")
    if value.endswith(".dll"):
        if entry := call.project.assembly(posixpath.basename(value).removesuffix(".dll")):
            yield entry
    elif value in ("run", "watch"):
        places = call.places(call.option("--project", "-p") or ".")
        folders = (posixpath.dirname(place) if place.endswith("proj") else place for place in places)
        yield from filter(None, [next(filter(None, map(call.project.dotnet_program, folders)), None)])


def _go(call: Call) -> Iterator[Entry]:
    values = list(call.values())
    if values[:1] == ["run"] and len(values) > 1:
        for place in call.places(values[1]):
            files = [place] if place.endswith(".go") else call.project.sources.by_folder.get(place, ())
            sources = [path for path in files if path.endswith(".go") and not path.endswith("_test.go")]
            path = posixpath.join(place, "main.go") if posixpath.join(place, "main.go") in sources else ""
            if path or len(sources) == 1:
                yield Entry(f"{path or sources[0]}::main")
                return


def _cargo(call: Call) -> Iterator[Entry]:
    if "run" not in call.arguments:
        return
    name = call.option("--bin") or call.option("-p", "--package")
    if not name:
        nearest = (call.project.nearest("cargo", folder) for folder in call.folders())
        own = {manifest.name for manifest in nearest if manifest and manifest.programs}
        name = own.pop() if len(own) == 1 else ""
    if entry := call.project.program(name):
        yield entry


def _shell(call: Call) -> Iterator[Entry]:
    for position, argument in enumerate(call.arguments):
        if argument.startswith("-") and "c" in argument[1:] and not argument.startswith("--"):
            text = next(iter(call.arguments[position + 1 :]), "")
            yield from entries(call.project, call.start._replace(command=text), call.depth + 1)
            return
    yield from _script(call)


def _by_convention(name: str) -> Starter:
    """Return a starter for servers that load a file of a fixed name in the working directory."""

    def start(call: Call) -> Iterator[Entry]:
        if entry := call.file(name):
            yield Entry(entry.id, BY_CONVENTION)

    return start


PROGRAMS: dict[str, Starter] = {
    r"(?:python|pypy)[\d.]*": _python,
    r"gunicorn|uvicorn|hypercorn|daphne|granian|waitress-serve|celery|flask|fastapi": _application,
    r"node|nodejs|ts-node(?:-dev)?|tsx|nodemon|bun|deno|ruby|php|perl|lua": _script,
    r"npm|yarn|pnpm": _package_script,
    r"java": _java,
    r"dotnet": _dotnet,
    r"go": _go,
    r"cargo": _cargo,
    r"sh|bash|ash|dash|zsh|ksh": _shell,
    r"puma|unicorn|rackup|thin|falcon": _by_convention("config.ru"),
    r"rails|sidekiq": _by_convention("config/environment.rb"),
    r"rake": _by_convention("Rakefile"),
}  # the first match counts


def starter_of(program: str) -> Starter | None:
    """Return how a program names what it starts; None if nothing is known about its arguments."""
    return next((starter for pattern, starter in PROGRAMS.items() if re.fullmatch(pattern, program)), None)
