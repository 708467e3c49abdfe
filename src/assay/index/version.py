"""Versions of extraction, resolution and history: hashes of their source, so that a change invalidates old results."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

_HERE = Path(__file__).parent
_TEXT, _STORE, _LANGUAGES = (_HERE.parent / name for name in ("text", "store", "languages"))
# sources that affect the facts of a file
_EXTRACTION = (
    "facts.py",
    "chains.py",
    "parser.py",
    "extract/__init__.py",
    "extract/collect.py",
    "extract/definition.py",
    "extract/nest.py",
    "extract/texts.py",
    "extract/words.py",
    "documents/docx.py",
    "documents/facts.py",
    "documents/formats.py",
    "documents/html.py",
    "documents/notebook.py",
    "documents/opened.py",
    "documents/pdf.py",
)
# sources that affect the facts of a commit
_HISTORY = (
    _HERE / "history.py",
    *(_HERE.parent / "git" / name for name in ("launcher.py", "repository.py", "diff.py")),
    *(_TEXT / name for name in ("terms.py", "prose.py")),
)


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
            *(_HERE / name for name in _EXTRACTION),
            *word_files(),
            _TEXT / "tokens.py",
            _TEXT / "blocks.py",
            _TEXT / "chunk.py",
            *sorted(_LANGUAGES.glob("*.py")),
            *sorted(_LANGUAGES.glob("*.scm")),
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
            *sorted(path for suffix in ("py", "scm", "common") for path in _LANGUAGES.glob(f"*.{suffix}")),
        ]
    )


@cache
def history_version() -> str:
    """Return a hash that changes with anything that affects the facts of a commit."""
    return _digest([*_HISTORY])
