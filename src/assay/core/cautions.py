"""Cautions: warnings with a stable code, on whatever makes a figure mean less than it seems.

Printed as `warning: …` and, in JSON, as `{"code": …, "message": …}`. docs/guides/evaluate.md lists the codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.golden import GoldenSet


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: a code for programs, a message for people."""

    code: str
    message: str

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


def from_json(value: Any) -> Caution:
    """Return a stored caution; run files written before codes existed hold the message only."""
    if isinstance(value, Mapping):
        return Caution(str(value.get("code", "other")), str(value.get("message", "")))
    return Caution("other", str(value))


def as_json(cautions: Iterable[Caution]) -> list[dict[str, str]]:
    """Return cautions as printed by --format json."""
    return [caution.as_json() for caution in cautions]


def of_golden(golden: GoldenSet) -> list[Caution]:
    """Return the warnings that reading a golden set gave."""
    return [Caution("golden-set", message) for message in golden.warnings]
