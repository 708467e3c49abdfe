"""Systems outside this process, by kind of SPEC.

cmd:TEMPLATE    a command that runs once per query and prints its results
http:URL        a retriever behind a URL, queried by JSON POST, or by GET if the URL contains `{query}`
trec:FILE       recorded results in a TREC run file (`qid Q0 docid rank score tag`)
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import re
import selectors
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import Request

from assay.core.golden import Response
from assay.errors import AssayError, announce
from assay.evaluate.systems import (
    OUTPUT_LIMIT,
    PLACEHOLDER,
    System,
    SystemDied,
    SystemFailed,
    finished,
    folder_of,
    one_line,
    placeholders,
    require_budget,
)
from assay.evaluate.systems.shape import hit_from_id, parse
from assay.system.http import Broken, Refused, TooMuch, Unreachable, fetch, json_request
from assay.system.inputs import read_lines
from assay.system.programs import SkippedPrograms, guard, skipped_folders

_SHELL = "/bin/sh"
_STDERR_KEPT = 1 << 14  # bytes, from the end: the last line states why a command failed
_NO_MATCH = 1  # grep's exit code when nothing matches
_NO_PROGRAM = 127  # a shell's exit code for a command that does not exist

# Pieces of a template: 'single quoted', "double quoted", an escaped character, anything else.
_PIECE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+""", re.DOTALL)
_OPERATOR = re.compile(r"[|&;<>()$`*?~\[\n]|^\s*\w+=")
# `sh -c '… {query} …'` and `eval {query}`: an inner shell would run the query as code despite quoting
_INNER_SHELL = re.compile(
    r"""(?:^|[\s/;&|(])(?:ba|da|z|k)?sh\s[^'";&|]*?-\w*c\s+(?:'[^']*|"(?:\\.|[^"\\])*)?\{(?:query|repo)\}"""
    r"""|(?:^|[;&|(])\s*eval\s[^;&|]*\{(?:query|repo)\}"""
)
_SHELL_NOT_FOUND = re.compile(rf"^{_SHELL}: .*: (?:command )?not found$", re.MULTILINE)


def open_command(root: Path, corpus: Path | None, argument: str, timeout: float) -> Command:
    """Open a command from its template. Raises AssayError if it cannot be run safely."""
    if "".join(_PIECE.findall(argument)) != argument:
        raise AssayError(f"system 'cmd:{argument}': a quote is not closed")
    if _INNER_SHELL.search(argument):
        raise AssayError(
            f"system 'cmd:{argument}': the query would be run as shell code; write the command itself (pipes and other "
            "operators work), or pass the query as an argument: sh -c '… \"$1\" …' sh {query}"
        )
    for folder in filter(None, (root, corpus)):
        guard(folder)
    if skipped := skipped_folders():
        announce(
            f"system 'cmd:{argument}' runs as typed, with your PATH, which names folders of a repository or relative ones: "
            + ", ".join(folder or "(empty)" for folder in skipped),
            SkippedPrograms,
        )
    return Command(argument, root, corpus, timeout)


class Command(System):
    """A command run per query, in the query's repository folder."""

    reads_folder = True

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
        code, output, stderr = self._run(values, folder)
        seconds = time.perf_counter() - started
        not_found = _SHELL_NOT_FOUND.search(stderr) if self._script and not output.strip() else None
        if not_found or (self._script and code == _NO_PROGRAM):
            raise SystemDied(not_found[0] if not_found else _describe_exit(code, stderr))
        if code and not _is_no_match(code, output, stderr):
            raise SystemFailed(_describe_exit(code, stderr))
        return finished(parse(output, plain=True), k, seconds)

    def close(self) -> None:
        with self._lock:
            for process in self._running:
                if process.returncode is None:
                    _kill(process)

    def _run(self, values: dict[str, str], folder: Path) -> tuple[int, str, str]:
        """Return exit code, stdout and the end of stderr; no process is left behind."""
        with self._stdin(values["query"]) as stdin:
            process = self._start(values, stdin, folder)
        with process:
            with self._lock:
                self._running.add(process)
            try:
                output, stderr = _collect(process, time.monotonic() + self._timeout)
            except TimeoutError:
                raise SystemFailed(f"no answer within {self._timeout:g} s") from None
            finally:
                with self._lock:
                    self._running.discard(process)
                    if process.returncode is None:
                        _kill(process)
        return process.returncode, output.decode(errors="replace"), stderr.decode(errors="replace")

    @contextlib.contextmanager
    def _stdin(self, query: str) -> Iterator[int]:
        """Yield the command's stdin: the query if it is not an argument, else nothing."""
        if "query" in self._used:
            yield subprocess.DEVNULL  # not an empty file: ripgrep would search it instead of the folder
            return
        with tempfile.TemporaryFile() as file:
            file.write(query.encode(errors="replace"))
            file.seek(0)
            yield file.fileno()

    def _start(self, values: dict[str, str], stdin: int, folder: Path) -> subprocess.Popen[bytes]:
        """Start the command in its own process group; a shell gets the query only in a variable."""
        if self._script:
            arguments = [_SHELL, "-c", self._script]
            environment = os.environ | {_variable(name): values[name] for name in self._used}
        else:
            arguments = [_fill(word, values) for word in shlex.split(self._template)]
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
            raise SystemDied(_missing_program(arguments[0], folder)) from None
        except ValueError as error:
            raise SystemFailed(f"the query cannot be passed on a command line: {error}") from None
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise SystemFailed(
                    "the query is too long for a command line; omit {query} to get it on stdin"
                ) from None
            raise SystemDied(f"'{arguments[0]}' cannot be started: {error.strerror}") from None


def _needs_shell(template: str) -> bool:
    """Return True if a template has shell operators outside quotes."""
    for piece in _PIECE.findall(template):
        if piece[0] == '"' and re.search(r"[$`]", piece):
            return True
        if piece[0] not in "'\"\\" and _OPERATOR.search(PLACEHOLDER.sub("", piece)):
            return True
    return False


def _script(template: str) -> str:
    """Convert a template to a shell script with variables for placeholders, whose values are never run as code."""
    return "".join(map(_with_variables, _PIECE.findall(template)))


def _with_variables(piece: str) -> str:
    """Replace the placeholders of a piece by variables, quoted for their context."""
    before, after = {"'": ("'\"", "\"'"), '"': ("", "")}.get(piece[0], ('"', '"'))
    return PLACEHOLDER.sub(lambda match: f"{before}${{{_variable(match[1])}}}{after}", piece)


def _variable(placeholder: str) -> str:
    return f"ASSAY_{placeholder.upper()}"


def _fill(word: str, values: dict[str, str]) -> str:
    """Replace the placeholders of a word once; a `{k}` inside the query stays."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], word)


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Return stdout and the end of stderr. Raises TimeoutError at the deadline, SystemFailed if stdout is too large."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, stderr = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, stderr)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            for key, _ in selector.select(remaining):
                chunk = os.read(key.fd, 1 << 16)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            del stderr[:-_STDERR_KEPT]
            if len(output) > OUTPUT_LIMIT:
                raise SystemFailed(f"printed more than {OUTPUT_LIMIT >> 20} MB; print the best results only")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(output), bytes(stderr)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _is_no_match(code: int, output: str, stderr: str) -> bool:
    """Return True if a command ended like grep without a match: exit code 1, no stderr, no results."""
    try:
        return code == _NO_MATCH and not stderr.strip() and not parse(output, plain=True).hits
    except SystemFailed:
        return False


def _describe_exit(code: int, stderr: str) -> str:
    """Return exit code or signal, and the last line of stderr."""
    ending = f"exit code {code}" if code > 0 else f"killed by signal {-code} ({signal.strsignal(-code)})"
    return f"{ending}: {one_line(stderr, last=True) or 'nothing on stderr'}"


def _missing_program(program: str, folder: Path) -> str:
    place = "in the PATH" if "/" not in program else f"seen from {folder}"
    return f"no program '{program}' {place}; install it, or give its full path"


def open_endpoint(root: Path, corpus: Path | None, argument: str, timeout: float) -> Endpoint:
    """Open an endpoint from `http://host/…`, `http:host/…` or `http:https://host/…`."""
    scheme, _, remainder = argument.partition(":")
    url = (
        remainder
        if "://" in remainder
        else f"{scheme}:{remainder}"
        if remainder.startswith("//")
        else f"{scheme}://{remainder}"
    )
    try:
        address = urlsplit(PLACEHOLDER.sub("0", url))
        host, port = address.hostname, address.port
    except ValueError as error:
        raise AssayError(f"system '{argument}': {error}") from None
    if not host or port == 0 or address.scheme not in ("http", "https"):
        raise AssayError(f"system '{argument}' is not a URL; write for example http://127.0.0.1:8000/search")
    if address.username is not None:
        raise AssayError(
            "a password in a URL would be stored with every run; send it from a command instead, for example "
            'cmd:curl -s -H "Authorization: Bearer $TOKEN" … , which stores only the variable\'s name'
        )
    return Endpoint(argument, url, root, timeout)


class Endpoint(System):
    """An HTTP endpoint with one request per query."""

    def __init__(self, spec: str, url: str, root: Path, timeout: float) -> None:
        super().__init__(spec)
        self._url, self._root, self._timeout = url, root, timeout
        self._query_in_url = "query" in PLACEHOLDER.findall(url)

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        require_budget(self._url, budget)
        request = self._request(text, k, budget, repository)
        body, seconds = _fetch(request, self._timeout)
        return finished(parse(body.decode("utf-8", "replace")), k, seconds)

    def _request(self, text: str, k: int, budget: int | None, repository: str) -> Request:
        """Build the request of a query: GET if the URL holds the query, else POST."""
        values = placeholders(text, k, budget, repository, self._root)
        url = PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe="", errors="replace"), self._url)
        if self._query_in_url:
            return json_request(url)
        return json_request(url, {"query": text, "k": k, "budget": budget, "repository": repository})


def _fetch(request: Request, timeout: float) -> tuple[bytes, float]:
    """Return the response body and the seconds taken. Raises SystemFailed or SystemDied."""
    started = time.perf_counter()
    try:
        body = fetch(request, timeout, OUTPUT_LIMIT)
    except TimeoutError:
        raise SystemFailed(f"no answer within {timeout:g} s") from None
    except Refused as error:
        message = one_line(error.page)
        raise SystemFailed(f"{error}{': ' if message else ''}{message}") from None
    except Unreachable as error:
        failure = SystemDied if error.absent else SystemFailed
        raise failure(f"cannot reach {urlsplit(request.full_url).netloc}: {error}") from None
    except TooMuch as error:
        raise SystemFailed(f"{error}; send the best results only") from None
    except Broken as error:
        raise SystemFailed(f"the connection broke: {error.kind} {one_line(str(error))}".rstrip()) from None
    return body, time.perf_counter() - started


_COLUMNS = "qid Q0 docid rank score tag"


def open_run_file(root: Path, corpus: Path | None, argument: str, timeout: float) -> RunFile:
    """Read and validate a run file."""
    return RunFile(argument)


class RunFile(System):
    """Results of a run file by query id, by descending score; ties in file order."""

    def __init__(self, path: str) -> None:
        super().__init__(f"trec:{path}")
        digest = hashlib.sha256()
        self._tag = ""
        self._answers: dict[str, tuple[list[str], array[float]]] = {}
        for query, document, score, tag in _rows(path, digest.update):
            documents, scores = self._answers.setdefault(query, ([], array("d")))
            documents.append(document)
            scores.append(score)
            self._tag = self._tag or tag
        self._digest = digest.hexdigest()
        if not self._answers:
            raise AssayError(f"{path}: no results; a run file has lines of '{_COLUMNS}'")

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"tag": self._tag, "sha256": self._digest}

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        documents, scores = self._answers.get(query_id, ([], array("d")))
        best = sorted(range(len(documents)), key=lambda position: -scores[position])[:k]
        return Response(tuple(hit_from_id(documents[position], scores[position]) for position in best))


def _rows(path: str, seen: Callable[[bytes], object]) -> Iterator[tuple[str, str, float, str]]:
    """Yield query, document, score and tag of each line. Raises AssayError with the line number."""
    for number, line in _lines(path, seen):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 6:
            raise AssayError(f"{path}:{number}: {len(columns)} columns instead of 6 ({_COLUMNS})")
        query, _, document, rank, score, tag = columns
        if not rank.removeprefix("-").isdecimal():
            raise AssayError(f"{path}:{number}: the rank '{rank}' is not a whole number")
        yield query, document, _score(score, path, number), tag


def _lines(path: str, seen: Callable[[bytes], object]) -> Iterator[tuple[int, str]]:
    try:
        yield from read_lines(path, seen=seen)
    except FileNotFoundError:
        raise AssayError(f"{path}: no such run file") from None


def _score(text: str, path: str, number: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise AssayError(f"{path}:{number}: the score '{text}' is not a finite number")
    return score
