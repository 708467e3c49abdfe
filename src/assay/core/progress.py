"""Progress of long operations, and the report of an indexing run."""

from __future__ import annotations

from dataclasses import dataclass, field

# stages of an index by name: the first has definitions, words and documents, edges by name alone; the other everything
NAMES, COMPLETE = "names", "complete"

# step → (start, end) as shares of a first indexing; measured on 84 to 2,800 files
_STEPS = {
    "parsing": (0.0, 0.5),
    "reading history": (0.5, 0.7),
    "resolving": (0.7, 1.0),
}


def overall_share(step: str, done: float) -> float:
    """Return the share of a first indexing that is done, from the share of one step."""
    start, end = _STEPS.get(step, (1.0, 1.0))
    return start + (end - start) * done


def second_share(share: float) -> float:
    """Return the share of calls and history that is done, from that of a first indexing."""
    begin = _STEPS["parsing"][1]
    return max(0.0, share - begin) / (1 - begin)


class Progress:
    """Progress callbacks; the default does nothing."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...
    def waiting(self) -> None: ...
    def answering(self, report: Report) -> None:
        """Take note that questions are answered from now on, while calls and history are still to come."""


@dataclass(slots=True)
class Report:
    """Result of an indexing run."""

    mode: str  # "full", "update" or "fresh" (no changes)
    stage: str = COMPLETE  # NAMES if calls and history are still to come
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
