"""Pytest plug-in `--cpu N`: total CPU time of a run and its N most expensive tests, with the processes they started."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support import warm_process

_WORK_SECONDS = 0.03  # of `_slowness` on that machine

_TESTS = pytest.StashKey[dict[str, float]]()  # CPU seconds by test
_TOTAL = pytest.StashKey[list[float]]()  # CPU seconds of pytest's processes, each with everything it waited for


def cpu_seconds() -> float:
    """CPU seconds of this process and of all processes that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system + warm_process.cpu_seconds()


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Assert that a block takes at most so many CPU seconds, for work that would take minutes if it were not bounded.

    They are seconds of an idle core of two in 2026; a slower or busier machine has proportionally more.
    """
    before = cpu_seconds()
    yield
    used = cpu_seconds() - before
    assert used < seconds or used < seconds * _slowness()


def _slowness() -> float:
    """CPU seconds of a fixed piece of work, relative to those of the machine that the limits were measured on."""
    began = time.process_time()
    sum(number * number for number in range(1_000_000))
    return (time.process_time() - began) / _WORK_SECONDS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu", type=int, default=0, metavar="N", help="print the CPU time and the N most expensive tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TESTS], config.stash[_TOTAL] = {}, []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = cpu_seconds()
    result = yield
    item.config.stash[_TESTS][item.nodeid] = cpu_seconds() - before
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count this process, after fixtures are torn down; a worker of xdist sends its figures to the controller."""
    warm_process.stop()
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["cpu"] = cpu_seconds(), _most_expensive(config)
    else:
        own = os.times()
        workers = config.stash[_TOTAL]  # children of this process, counted by themselves
        workers.append(own.user + own.system if workers else cpu_seconds())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the figures of a worker; a crashed one has none."""
    if figures := getattr(node, "workeroutput", {}).get("cpu"):
        node.config.stash[_TOTAL].append(figures[0])
        node.config.stash[_TESTS].update(figures[1])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--cpu"):
        terminalreporter.section("CPU time")
        for test, cost in _most_expensive(config):
            terminalreporter.write_line(f"{cost:6.1f} s  {test}")
        seconds = config.stash[_TOTAL]
        terminalreporter.write_line(f"all tests: {sum(seconds) / 60:.1f} CPU minutes")


def _most_expensive(config: pytest.Config) -> list[tuple[str, float]]:
    tests = config.stash[_TESTS].items()
    return sorted(tests, key=lambda test: -test[1])[: config.getoption("--cpu")]
