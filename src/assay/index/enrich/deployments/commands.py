"""Command lines: the file or function of the repository that a command starts.

A command line is divided into simple commands; wrappers (`exec`, `poetry run`, `dumb-init`) are taken off; the program
then decides how its arguments name an entry point (`programs.py`).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from assay.index.enrich.deployments.programs import Call, handler_of
from assay.index.enrich.deployments.project import Entry, Project, Start

_MOST_INDIRECTIONS = 4  # scripts that run scripts
_LONGEST_COMMAND = 20_000  # characters of a shell text
_MOST_COMMANDS = 200  # simple commands of a shell text

# wrapper → number of arguments of its own after options; -1: up to `--`
_WRAPPERS = {
    "exec": 0, "env": 0, "sudo": 0, "nohup": 0, "time": 0, "nice": 0, "dumb-init": 0, "tini": 0, "/tini": 0, "command": 0,
    "catchsegv": 0, "npx": 0, "bunx": 0, "opentelemetry-instrument": 0, "ddtrace-run": 0, "xvfb-run": 0, "gosu": 1, "su-exec": 1,
    "setpriv": 0, "timeout": 1, "wait-for-it": -1, "wait-for-it.sh": -1, "stdbuf": 0, "chronic": 0,
}  # fmt: skip
# (program, subcommand) whose remaining arguments are a command
_RUNNERS = frozenset({
    ("poetry", "run"), ("uv", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("bundle", "exec"),
    ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("coverage", "run"), ("newrelic-admin", "run-program"), ("heroku", "local"),
})  # fmt: skip
_REDIRECTION = re.compile(r"\d?[<>]{1,3}&?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SEPARATOR = frozenset({"&&", "||", ";", "|", "&", "(", ")", "|&", ";;"})


def entries(project: Project, start: Start, depth: int = 0) -> Iterator[Entry]:
    """Yield the entry points that a command starts, each once."""
    seen = set()
    for entry in _entries(project, start, depth):
        if entry.id not in seen:
            seen.add(entry.id)
            yield entry


def _entries(project: Project, start: Start, depth: int) -> Iterator[Entry]:
    if depth > _MOST_INDIRECTIONS:
        return
    words = [list(start.command)] if isinstance(start.command, tuple) else list(simple_commands(start.command))
    for command in words:
        if command[:1] == ["cd"] and len(command) == 2:
            start = _moved(start, command[1])
            continue
        for entry in _started(Call(project, tuple(command), start, depth, entries)):
            yield entry._replace(command=shlex.join(command))


def _moved(start: Start, folder: str) -> Start:
    """Return a start after `cd FOLDER`."""
    image = start.image
    if image:
        image = image.copy()
        image.folder = posixpath.normpath(posixpath.join(image.folder, folder))
    folders = tuple(posixpath.normpath(posixpath.join(place, folder)).removeprefix(".") for place in start.folders)
    return start._replace(folders=folders if not folder.startswith(("/", "$", "~")) else (), image=image)


def simple_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of the simple commands of a shell text; lines that cannot be divided are left out."""
    joined = re.sub(r"\\\r?\n", " ", text[:_LONGEST_COMMAND])
    number = 0
    for line in joined.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            words = list(lexer)
        except ValueError:
            continue
        command: list[str] = []
        for word in [*_without_redirections(words), ";"]:
            if word in _SEPARATOR or (word and not word.strip("();|&")):
                if command and number < _MOST_COMMANDS:
                    number += 1
                    yield command
                command = []
            elif word.startswith("#"):
                break
            else:
                command.append(word)
        if command and number < _MOST_COMMANDS:
            yield command


def _without_redirections(words: list[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if match := _REDIRECTION.match(word):
            skip = match[0] == word  # its file is the next word
        elif skip:
            skip = False
        else:
            yield word


def _started(call: Call) -> Iterator[Entry]:
    """Yield what a simple command starts, after taking off assignments and wrappers."""
    words = list(call.arguments)
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        name = posixpath.basename(words[0])
        if name in _WRAPPERS:
            words = _unwrapped(words, _WRAPPERS[name])
        elif len(words) > 1 and (name, words[1]) in _RUNNERS:
            words = _unwrapped(words[1:], 0)
        else:
            break
    if not words or call.depth > _MOST_INDIRECTIONS:
        return
    program, call = posixpath.basename(words[0]), call._replace(arguments=tuple(words[1:]))
    handler = handler_of(program)
    if handler:
        yield from handler(call)
        return
    if call.start.image:
        image = call.start.image
        if built := image.built.get(posixpath.normpath(posixpath.join(image.folder, words[0]))):
            yield built
            return
        on_path = [entry for path, entry in image.built.items() if path == posixpath.join("/go/bin", program)]
        if "/" not in words[0] and on_path:
            yield on_path[0]
            return
    entry = call.file(words[0]) if "/" in words[0] or "." in words[0] else None
    entry = entry or call.project.program(program)
    if entry:
        yield entry
    # an entrypoint script of an image usually runs its arguments
    if entry and call.arguments and "entrypoint" in program:
        yield from _started(call._replace(depth=call.depth + 1))


def _unwrapped(words: list[str], own: int) -> list[str]:
    rest = words[1:]
    if own < 0 or "--" in rest[:8]:
        return rest[rest.index("--") + 1 :] if "--" in rest else []
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0])):
        rest = rest[1:]
    return rest[own:]
