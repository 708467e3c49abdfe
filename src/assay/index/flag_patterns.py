"""Names of a repository's own feature flag calls: `[flags] patterns` of its assay.toml.

They are plain names (`my_flags.is_on`), compared with the ends of calls, so they need no trust and cannot be slow. What
is wrong with the file is said by `config/configuration.py`; here a bad entry is only left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from assay.config.user import BadConfiguration, read_table

MAX_PATTERNS = 100  # every call with a last name of one is looked at
_PATTERN = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){0,9}[?!]?")
_MAX_LENGTH = 200


def is_pattern(value: Any) -> bool:
    """Return whether a value is the name of a call."""
    return isinstance(value, str) and len(value) <= _MAX_LENGTH and _PATTERN.fullmatch(value) is not None


def read_patterns(root: Path) -> tuple[str, ...]:
    """Return the patterns of a repository's assay.toml, sorted; none if it has no valid ones."""
    try:
        table = read_table(root / "assay.toml", root) or {}
    except (BadConfiguration, OSError):
        return ()
    section = table.get("flags")
    patterns = section.get("patterns") if isinstance(section, dict) else None
    values = patterns if isinstance(patterns, list) else ()
    return tuple(sorted({value for value in values if is_pattern(value)}))[:MAX_PATTERNS]
