"""Progress of long operations, and the report of an indexing run."""

from __future__ import annotations

from dataclasses import dataclass, field


class Progress:
    """Progress callbacks; the default does nothing."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...
    def waiting(self) -> None: ...


__all__ = ["Progress", "Report"]


@dataclass(slots=True)
class Report:
    """Result of an indexing run."""

    mode: str  # "full", "update" or "fresh" (no changes)
    files: int = 0
    documents: int = 0
    parsed: int = 0
    resolved: int = 0
    removed: int = 0
    seconds: float = 0.0
    reason: str = ""  # why an existing index was not reused
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # about the repository as a whole
    notes: dict[str, str] = field(default_factory=dict)  # files read with a remark
