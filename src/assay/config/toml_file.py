"""Reading a file of settings: a regular file of bounded size, in UTF-8, as TOML; anything else is one clear line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular

LIMIT = 1_000_000  # bytes: the largest file of settings seen has 4,000
_PLACE = r" \(at (?:line (\d+), column \d+|end of document)\)$"  # the end of tomllib's messages


class BadConfiguration(AssayError):
    """Everything that is wrong with a configuration, a line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read_settings(path: Path, within: Path | None = None) -> bytes | None:
    """Return the content of a file of settings; None when there is none.

    `within` is the folder that a link must not leave: what lies outside of a repository is not the repository's to name.
    """
    try:
        if within is not None and path.is_symlink():
            target = Path(os.path.realpath(path))
            if not target.is_relative_to(os.path.realpath(within)):
                raise BadConfiguration([f"{path}: is a link that leaves {within}; put the file itself there"])
        return read_regular(path, LIMIT)
    except FileNotFoundError:
        return None
    except TooLarge as error:
        raise BadConfiguration([str(error)]) from None
    except OSError as error:
        raise BadConfiguration([f"{path}: cannot be read ({error.strerror or error})"]) from None


def read_table(path: Path, within: Path | None = None) -> dict[str, Any] | None:
    """Return a file of settings as a table; None when there is none. Raises BadConfiguration with the line of the mistake."""
    written = read_settings(path, within)
    if written is None:
        return None
    try:
        text = written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object.count(b"\n", 0, error.start)
        raise BadConfiguration([f"{path}:{before + 1}: not UTF-8"]) from None
    import tomllib  # most repositories have no such file

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for a number too long, and for nesting too deep
        message = str(error)
        place = re.search(_PLACE, message)
        line = f":{place[1] or text.count(chr(10)) + 1}" if place else ""
        raise BadConfiguration([f"{path}{line}: not TOML: {re.sub(_PLACE, '', message)}"]) from None
