"""What is wrong with a golden set: collected while it is read, told all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import AssayError

SHOWN = 20  # problems of one set that are printed
MOST = 1_000  # problems after which nothing more is read


class InvalidGolden(AssayError):
    """A golden set that cannot be used. `problems` holds one line for each thing to put right."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.problems = tuple(problems)
        more = [f"… and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        lines = [*problems[:SHOWN], *more]
        super().__init__(lines[0] if len(problems) == 1 else "\n  ".join([f"{path}: {len(problems)} problems", *lines]))


class Unreadable(Exception):
    """A file that could not be read or parsed at all, and the line that says so (0 = none)."""

    def __init__(self, line: int, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.line, self.message, self.path = line, message, path


@dataclass(slots=True)
class Problems:
    """Errors and warnings in the order they were met."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def error(self, path: Path | str, line: int, message: str) -> None:
        self.errors.append(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        if len(self.errors) == MOST:
            raise InvalidGolden(Path(path), self.errors)

    def unreadable(self, path: Path, reason: Unreadable) -> None:
        self.error(reason.path or path, reason.line, reason.message)

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def raise_if_any(self, path: Path) -> None:
        if self.errors:
            raise InvalidGolden(path, self.errors)
