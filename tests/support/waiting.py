"""Waiting for processes. The limit serves only against hanging: a slow or busy machine does not reach it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 600.0  # seconds

T = TypeVar("T")


def until(holds: Callable[[], T], pause: float = 0.05) -> T:
    """Wait until a condition holds; return its value."""
    deadline = time.monotonic() + PATIENCE
    while not (value := holds()):
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s"
        time.sleep(pause)
    return value
