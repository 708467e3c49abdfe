"""What an indexing run shows while it works and says when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.core.progress import Progress

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
