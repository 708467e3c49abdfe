"""Versions of extraction, resolution and history: hashes of their source, so that a change invalidates old results."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

_HERE = Path(__file__).parent
_TEXT, _STORE, _LANGUAGES = (_HERE.parent / name for name in ("text", "store", "languages"))


def word_files() -> list[Path]:
    """Return the sources that determine the terms of a text: query and index must agree on them."""
    return [_TEXT / "terms.py", _STORE / "postings.py"]


def _digest(paths: list[Path]) -> str:
    digest = blake2b(digest_size=6)
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def extractor_version() -> str:
    """Return a hash that changes with anything that affects extraction from a file."""
    return _digest(
        [
            *(_HERE / name for name in ("facts.py", "chains.py")),
            *_sources(_HERE / "extract"),
            *_sources(_HERE / "extract" / "services"),
            *_sources(_HERE / "documents"),
            *word_files(),
            *(_TEXT / name for name in ("tokens.py", "markup.py", "tags.py", "chunk.py")),
            *_sources(_LANGUAGES, "py", "scm"),
            *_sources(_LANGUAGES / "frameworks"),
        ]
    )


@cache
def index_version() -> str:
    """Return a hash that changes with anything that affects an index."""
    return _digest(
        [
            *sorted(_HERE.rglob("*.py")),
            *word_files(),
            _HERE.parent / "core" / "items.py",
            *(_STORE / name for name in ("layout.py", "columns.py")),
            *_sources(_LANGUAGES, "py", "scm", "common"),
            *_sources(_LANGUAGES / "frameworks"),
        ]
    )


@cache
def history_version() -> str:
    """Return a hash that changes with anything that affects the facts of a commit."""
    words = (_TEXT / name for name in ("terms.py", "prose.py"))
    return _digest([_HERE / "history.py", *_sources(_HERE.parent / "git"), *words])


@cache
def statements_version() -> str:
    """Return a hash that changes with anything that affects what project files state."""
    enrich = sorted((_HERE / "enrich").rglob("*.py"))
    return _digest([*enrich, _STORE / "links" / "stated.py", _HERE.parent / "core" / "owners.py"])


def _sources(folder: Path, *suffixes: str) -> list[Path]:
    return sorted(path for suffix in suffixes or ("py",) for path in folder.glob(f"*.{suffix}"))
