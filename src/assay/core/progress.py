"""What long work tells of itself."""

from __future__ import annotations


class Progress:
    """What a caller may want to see while it waits. The default shows nothing."""

    def start(self, stage: str, total: int) -> None: ...
    def advance(self, count: int = 1) -> None: ...
    def waiting(self) -> None: ...
