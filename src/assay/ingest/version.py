"""Versions of extraction and resolution, taken from their own source: a change in either can never leave old results in use."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

_HERE = Path(__file__).parent
# what the facts of a file depend on
_EXTRACTION = (
    "facts.py",
    "chains.py",
    "extract.py",
    "collect.py",
    "definition.py",
    "nest.py",
    "texts.py",
    "reader.py",
    "parser.py",
    "conventions.py",
)
# what the facts of a commit depend on
_HISTORY = (
    _HERE / "log.py",
    _HERE / "hunks.py",
    _HERE / "history.py",
    _HERE.parent / "git.py",
    *(_HERE.parent / "text" / name for name in ("terms.py", "identifiers.py", "messages.py")),
)


def _digest(paths: list[Path]) -> str:
    digest = blake2b(digest_size=6)
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def extractor_version() -> str:
    """Changes with anything that could change what is extracted from a file."""
    languages = _HERE / "languages"
    return _digest(
        [*(_HERE / name for name in _EXTRACTION), languages / "__init__.py", *sorted(languages.glob("*.scm"))]
    )


@cache
def index_version() -> str:
    """Changes with anything that could change an index."""
    return _digest(
        [
            *sorted(_HERE.rglob("*.py")),
            *sorted((_HERE / "languages").glob("*.scm")),
            *sorted((_HERE / "languages").glob("*.common")),
        ]
    )


@cache
def history_version() -> str:
    """Changes with anything that could change what is read from a commit."""
    return _digest([*_HISTORY])
