"""Progress of long work, and the report of an indexing run."""

from __future__ import annotations

from dataclasses import dataclass, field


class Progress:
    """What a caller may want to see while it waits. The default shows nothing."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...
    def waiting(self) -> None: ...


# What an indexing run shows while it works and says when it is done.

__all__ = ["Progress", "Report"]


@dataclass(slots=True)
class Report:
    """What an indexing run did."""

    mode: str  # "full", "update" or "fresh": nothing had changed
    files: int = 0
    documents: int = 0
    parsed: int = 0
    resolved: int = 0
    removed: int = 0
    seconds: float = 0.0
    reason: str = ""  # why an existing index was not used
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # about the repository as a whole
    notes: dict[str, str] = field(default_factory=dict)  # files that were read with a remark
