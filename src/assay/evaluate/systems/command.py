"""`cmd:TEMPLATE`: a retriever that is a command. It is run once for each query and prints its results."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import selectors
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from assay.core.golden import Response
from assay.errors import AssayError
from assay.evaluate.systems.protocol import (
    OUTPUT_LIMIT,
    PLACEHOLDER,
    Base,
    SystemDied,
    SystemFailed,
    finished,
    folder_of,
    one_line,
    placeholders,
    require_budget,
)
from assay.evaluate.systems.shape import parse

_SHELL = "/bin/sh"
_STDERR_KEPT = 1 << 14  # bytes from its end: the last line is what says why a command failed
_NO_MATCH = 1  # grep's exit code when nothing matches
_NO_PROGRAM = 127  # a shell's exit code for a command that does not exist

# A template in pieces: 'single quoted', "double quoted", an escaped character, the rest.
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+""", re.DOTALL)
_OPERATOR = re.compile(r"[|&;<>()$`*?~\[\n]|^\s*\w+=")
# `sh -c '… {query} …'` and `eval {query}`: there a shell would read the query as code, however well it was quoted before
_INNER_SHELL = re.compile(
    r"""(?:^|[\s/;&|(])(?:ba|da|z|k)?sh\s[^'";&|]*?-\w*c\s+(?:'[^']*|"(?:\\.|[^"\\])*)?\{(?:query|repo)\}"""
    r"""|(?:^|[;&|(])\s*eval\s[^;&|]*\{(?:query|repo)\}"""
)
_SHELL_MISSED = re.compile(rf"^{_SHELL}: .*: (?:command )?not found$", re.MULTILINE)


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> Command:
    """A command from its template. A template that cannot be run safely, or at all, is refused here."""
    if "".join(_PIECE.findall(argument)) != argument:
        raise AssayError(f"system 'cmd:{argument}': a quote is not closed")
    if _INNER_SHELL.search(argument):
        raise AssayError(
            f"system 'cmd:{argument}': the query would be run as shell code; write the command itself (pipes and other "
            "operators work), or hand the query over: sh -c '… \"$1\" …' sh {query}"
        )
    return Command(argument, root, corpus, timeout)


class Command(Base):
    """A command that is run for each query, in the folder the query speaks of."""

    def __init__(self, template: str, root: Path, corpus: Path | None, timeout: float) -> None:
        super().__init__(f"cmd:{template}")
        self._template, self._root, self._corpus, self._timeout = template, root, corpus, timeout
        self._script = _script(template) if _needs_shell(template) else ""
        self._used = set(PLACEHOLDER.findall(template))
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        require_budget(self._template, budget)
        folder = folder_of(self._root, self._corpus, repository)
        values = placeholders(text, k, budget, repository, folder)
        started = time.perf_counter()
        code, output, complaint = self._run(values, folder)
        seconds = time.perf_counter() - started
        missed = _SHELL_MISSED.search(complaint) if self._script and not output.strip() else None
        if missed or (self._script and code == _NO_PROGRAM):
            raise SystemDied(missed[0] if missed else _how_it_ended(code, complaint))
        if code and not _found_nothing(code, output, complaint):
            raise SystemFailed(_how_it_ended(code, complaint))
        return finished(parse(output, plain=True), k, seconds)

    def close(self) -> None:
        with self._lock:
            for process in self._running:
                if process.returncode is None:
                    _kill(process)

    def _run(self, values: dict[str, str], folder: Path) -> tuple[int, str, str]:
        """Exit code, output and end of stderr of one run; whatever goes wrong, no process of it is left behind."""
        with self._stdin(values["query"]) as stdin:
            process = self._start(values, stdin, folder)
        with process:
            with self._lock:
                self._running.add(process)
            try:
                output, complaint = _collect(process, time.monotonic() + self._timeout)
            except TimeoutError:
                raise SystemFailed(f"no answer within {self._timeout:g} s") from None
            finally:
                with self._lock:
                    self._running.discard(process)
                    if process.returncode is None:
                        _kill(process)
        return process.returncode, output.decode(errors="replace"), complaint.decode(errors="replace")

    @contextlib.contextmanager
    def _stdin(self, query: str) -> Iterator[int]:
        """What the command reads: the query if it is not among its arguments, else nothing."""
        if "query" in self._used:
            yield subprocess.DEVNULL  # and no empty file: ripgrep would search that instead of the folder
            return
        with tempfile.TemporaryFile() as file:
            file.write(query.encode(errors="replace"))
            file.seek(0)
            yield file.fileno()

    def _start(self, values: dict[str, str], stdin: int, folder: Path) -> subprocess.Popen[bytes]:
        """Starts the command in a process group of its own, without a shell or with the query only in a variable."""
        if self._script:
            arguments = [_SHELL, "-c", self._script]
            environment = os.environ | {_variable(name): values[name] for name in self._used}
        else:
            arguments = [_filled(word, values) for word in shlex.split(self._template)]
            environment = dict(os.environ)
        try:
            return subprocess.Popen(
                arguments,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise SystemDied(_missing(arguments[0], folder)) from None
        except ValueError as error:
            raise SystemFailed(f"the query cannot stand in a command line: {error}") from None
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise SystemFailed(
                    "the query is too long for a command line; without {query} it comes on stdin"
                ) from None
            raise SystemDied(f"'{arguments[0]}' cannot be started: {error.strerror}") from None


def _needs_shell(template: str) -> bool:
    """Whether a template holds anything only a shell understands; what stands in quotes is just text."""
    for piece in _PIECE.findall(template):
        if piece[0] == '"' and re.search(r"[$`]", piece):
            return True
        if piece[0] not in "'\"\\" and _OPERATOR.search(PLACEHOLDER.sub("", piece)):
            return True
    return False


def _script(template: str) -> str:
    """The template as a shell script in which placeholders are variables: a shell never reads a variable's value as code."""
    return "".join(map(_with_variables, _PIECE.findall(template)))


def _with_variables(piece: str) -> str:
    """A piece of a template with variables for placeholders, quoted to fit where they stand."""
    before, after = {"'": ("'\"", "\"'"), '"': ("", "")}.get(piece[0], ('"', '"'))
    return PLACEHOLDER.sub(lambda found: f"{before}${{{_variable(found[1])}}}{after}", piece)


def _variable(placeholder: str) -> str:
    return f"ASSAY_{placeholder.upper()}"


def _filled(word: str, values: dict[str, str]) -> str:
    """A word of the command line with its placeholders filled, once: a query that contains `{k}` keeps it."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], word)


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """All that a process prints until it ends: stdout whole, of stderr the end. Raises TimeoutError at the deadline."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, complaint)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                read = os.read(key.fd, 1 << 16)
                key.data.extend(read)
                if not read:
                    selector.unregister(key.fileobj)
            del complaint[:-_STDERR_KEPT]
            if len(output) > OUTPUT_LIMIT:
                raise SystemFailed(f"printed more than {OUTPUT_LIMIT >> 20} MB; print the best results only")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(output), bytes(complaint)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _found_nothing(code: int, output: str, complaint: str) -> bool:
    """Whether a command ended as grep does when nothing matches: exit code 1 without a word, or without a result."""
    try:
        return code == _NO_MATCH and not complaint.strip() and not parse(output, plain=True).hits
    except SystemFailed:
        return False


def _how_it_ended(code: int, complaint: str) -> str:
    """Why a command failed: its exit code or signal, and the last thing it said."""
    how = f"exit code {code}" if code > 0 else f"killed by signal {-code} ({signal.strsignal(-code)})"
    return f"{how}: {one_line(complaint, last=True) or 'nothing on stderr'}"


def _missing(program: str, folder: Path) -> str:
    where = "in the PATH" if "/" not in program else f"seen from {folder}"
    return f"no program '{program}' {where}; install it, or give its whole path"
