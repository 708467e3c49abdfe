"""What the index of a repository is at a moment, as a server tells it."""

from __future__ import annotations

from dataclasses import dataclass

MISSING, BUILDING, FRESH, STALE, FAILED = NAMES = ("missing", "building", "fresh", "stale", "failed")

_SOON = 5  # seconds after which to ask again, when nothing better is known
_TOLD_FROM = 0.05  # share done before the time that is left is guessed


@dataclass(frozen=True, slots=True)
class State:
    """One of NAMES. `share` (0 to 1) is how much of the work under way is done, `seconds` how long it has taken so far."""

    name: str
    share: float = 0.0
    seconds: float = 0.0
    why: str = ""  # it failed, or what it waits for
    again: bool = False  # there was an index before

    @property
    def left(self) -> float | None:
        """The seconds that the work under way still takes, if it goes on as it went; None when that cannot be guessed."""
        if self.share < _TOLD_FROM:
            return None
        return self.seconds * (1 - self.share) / self.share

    @property
    def building(self) -> str:
        """How far an index is that is not there yet, and when to ask again."""
        if self.why:
            return f"not there: {self.why}"
        left = self.left
        later = _SOON if left is None else max(1, round(left) + 1)
        again = " again" if self.again else ""
        return f"being built{again} ({self.share:.0%}); ask again in {later} s"

    def __str__(self) -> str:
        done = f" ({self.share:.0%})" if self.share else ""
        return f"{self.name}{done}" + (f": {self.why}" if self.why else "")
