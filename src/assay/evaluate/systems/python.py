"""Retrievers in this process: a function, a class, or an object with `retrieve` (LlamaIndex) or `invoke` (LangChain).

`python:module:function` names it, `wrap` takes the object itself. Coroutines are awaited.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import inspect
import os
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.core.golden import Response
from assay.errors import AssayError
from assay.evaluate.systems import System, SystemDied, SystemFailed, check_timeout, finished, one_line
from assay.evaluate.systems.shape import response
from assay.text.suggest import did_you_mean

# Accepted names of the number of results; a second parameter without a default is used for it as well.
_COUNTS = ("k", "top_k", "topk", "n", "limit", "size", "num_results", "max_results")
_OPTIONS = ("budget", "repository", "query_id")
# Methods that take a query, the first that an object has: assay and LlamaIndex, LangChain; else the object is called.
_METHODS = ("retrieve", "invoke")

Retrieve = Callable[[str, int, dict[str, Any]], object]  # text, k, options by name


def open(root: Path, corpus: Path | None, argument: str, timeout: float) -> InProcess:
    """Load `module:name` from the installed packages or the current folder; `name` may have dots."""
    module, _, name = argument.partition(":")
    if not module or not name:
        raise AssayError(f"system 'python:{argument}' must name a module and a function: python:my_retriever:search")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.insert(0, folder)
    return InProcess(f"python:{module}:{name}", lambda: _load(module, name), timeout)


def wrap(retriever: object, timeout: float, name: str = "") -> InProcess:
    """Return a callable, a class or an object with one of _METHODS as a system; `name` replaces its own."""
    check_timeout(timeout)
    named = retriever if hasattr(retriever, "__qualname__") else type(retriever)
    module = sys.modules.get(named.__module__)
    spec = name or f"python:{named.__module__}:{named.__qualname__}"
    return InProcess(spec, lambda: (module, retriever() if inspect.isclass(retriever) else retriever), timeout)


class InProcess(System):
    """A Python retriever called in a thread of its own, one query at a time."""

    reads_folder = True

    concurrent = False

    def __init__(self, name: str, load: Callable[[], tuple[ModuleType | None, Any]], timeout: float) -> None:
        super().__init__(name)
        self._timeout = timeout
        self._worker = _Worker(patience=timeout)
        self._module, self._object = self._call("loading it", load)
        method = next((method for method in _METHODS if callable(getattr(self._object, method, None))), None)
        self._retrieve = _adapt(getattr(self._object, method) if method else self._object, self.name)
        answer = getattr(self._object, "answer", None)
        self._answer = _adapt(answer, self.name) if callable(answer) else self._retrieve

    def describe(self) -> dict[str, Any]:
        """Return the spec, a hash of the module's file, and the facts that module and object declare."""
        facts = super().describe()
        if source := getattr(self._module, "__file__", None):  # a notebook has none
            with contextlib.suppress(OSError):
                facts["sha256"] = hashlib.sha256(Path(source).read_bytes()).hexdigest()
        for fact, holder in (("__version__", self._module), ("chunker_version", self._object)):
            if isinstance(value := getattr(holder, fact, None), str | int):
                facts[fact.strip("_")] = str(value)
        described = getattr(self._object, "describe", None)
        return facts | ({"config": self._call("describe()", described)} if callable(described) else {})

    def index(self) -> None:
        self._optional("index")

    def reset(self) -> None:
        self._optional("reset", self._timeout)

    def close(self) -> None:
        self._worker.stop()

    def retrieve(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        return self._ask(self._retrieve, text, k, dict(zip(_OPTIONS, (budget, repository, query_id), strict=True)))

    def answer(
        self, text: str, k: int, budget: int | None = None, repository: str = "", query_id: str = ""
    ) -> Response:
        return self._ask(self._answer, text, k, dict(zip(_OPTIONS, (budget, repository, query_id), strict=True)))

    def _ask(self, retrieve: Retrieve, text: str, k: int, options: dict[str, Any]) -> Response:
        """Run a query within the timeout. Any exception fails this query only."""

        def timed() -> tuple[object, float]:
            started = time.perf_counter()
            value = self._worker.awaited(retrieve(text, k, options))
            value = list(value) if isinstance(value, Iterator) else value
            return value, time.perf_counter() - started

        try:
            value, seconds = self._worker.call(timed, self._timeout)
        except (SystemFailed, KeyboardInterrupt):
            raise
        except BaseException as error:  # also sys.exit()
            raise SystemFailed(_describe_error(error)) from error
        return finished(response(value), k, seconds)

    def _optional(self, name: str, timeout: float | None = None) -> None:
        """Call a method of the object if it has one."""
        method = getattr(self._object, name, None)
        if callable(method):
            self._call(f"{name}()", method, timeout)

    def _call(self, what: str, function: Callable[[], Any], timeout: float | None = None) -> Any:
        """Call something other than a query; loading and indexing have no timeout."""
        try:
            return self._worker.call(function, timeout)
        except (AssayError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise SystemFailed(f"system '{self.name}': {what} failed: {_describe_error(error)}") from error


class _Worker:
    """The one thread a retriever runs in, so that thread-bound resources such as SQLite connections work."""

    def __init__(self, patience: float) -> None:
        self._patience = patience  # seconds to wait for a timed-out call
        self._tasks: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._last: Future[Any] = Future()
        self._last.set_result(None)
        self._loop: asyncio.Runner | None = None  # one for all queries: clients belong to the loop they were made in
        # daemon: a retriever that hangs must not keep the process alive
        threading.Thread(target=self._work, daemon=True, name="assay-python-system").start()

    def call(self, function: Callable[[], Any], timeout: float | None = None) -> Any:
        """Return or raise what `function` does.

        Raises SystemFailed on timeout, SystemDied if an earlier call still runs.
        """
        if not wait_for([self._last], self._patience).done:
            raise SystemDied(f"still busy with an earlier query {self._patience:g} s after it timed out")
        done = self._last = Future()
        self._tasks.put((function, done))
        try:
            return done.result(timeout)
        except TimeoutError:
            if done.done():  # raised by the function itself
                raise
            raise SystemFailed(f"no answer within {timeout:g} s") from None

    def awaited(self, value: object) -> object:
        """Return the value, or what it comes to if it is a coroutine. Called in the worker's own thread."""
        if not inspect.isawaitable(value):
            return value
        self._loop = self._loop or asyncio.Runner()
        return self._loop.run(_result_of(value))

    def stop(self) -> None:
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            function, done = task
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)
        if self._loop is not None:
            self._loop.close()


async def _result_of(value: Awaitable[object]) -> object:
    return await value


def _load(module: str, name: str) -> tuple[ModuleType, Any]:
    """Return a module and the object in it; a class is instantiated."""
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports does not
        raise AssayError(f"no module '{module}', neither installed nor in {os.getcwd()}") from None
    target: Any = loaded
    for part in name.split("."):
        if not hasattr(target, part):
            public = [attribute for attribute in dir(target) if not attribute.startswith("_")]
            raise AssayError(f"'{part}' of '{name}' is not in '{module}'.{did_you_mean(part, public, 3)}")
        target = getattr(target, part)
    return loaded, target() if inspect.isclass(target) else target


def _adapt(function: object, name: str) -> Retrieve:
    """Wrap a callable with whichever of k, budget, repository and query_id it takes."""
    if not callable(function):
        raise AssayError(
            f"system '{name}' is neither a function nor an object with {' or '.join(f'{method}()' for method in _METHODS)}"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return lambda text, k, options: function(text, k)
    second, by_name = _parameters(signature)

    def arguments(text: str, k: int, options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [text, k] if second else [text], {option: options.get(option, k) for option in by_name}

    def ask(text: str, k: int, options: dict[str, Any]) -> object:
        positional, named = arguments(text, k, options)
        return function(*positional, **named)

    positional, named = arguments("", 1, dict.fromkeys(_OPTIONS))
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise AssayError(f"system '{name}' cannot be called with (query, k): {error}") from None
    return ask


def _parameters(signature: inspect.Signature) -> tuple[bool, list[str]]:
    """Return True if k is the second positional argument, and the parameters passed by name."""
    parameters = list(signature.parameters.values())
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    second = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if len(positional) > 1:
        name, default = positional[1].name, positional[1].default
        second = name in _COUNTS or (default is inspect.Parameter.empty and name not in _OPTIONS)
    names = [
        parameter.name
        for parameter in parameters[1:]
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    counts = [] if second else [name for name in names if name in _COUNTS][:1]
    return second, counts + [name for name in names if name in _OPTIONS]


def _describe_error(error: BaseException) -> str:
    """Return an exception's type and the first line of its message."""
    return f"{type(error).__name__}: {one_line(str(error))}".rstrip(": ")
