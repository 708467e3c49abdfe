"""Versions of extraction and resolution, taken from their own source: a change in either can never leave old results in use."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

_HERE = Path(__file__).parent
_TEXT, _STORE = _HERE.parent / "text", _HERE.parent / "store"
# what the facts of a file depend on, code or document
_EXTRACTION = (
    "facts.py",
    "chains.py",
    "extract.py",
    "collect.py",
    "definition.py",
    "nest.py",
    "texts.py",
    "words.py",
    "reader.py",
    "parser.py",
    "conventions.py",
    "documents/facts.py",
    "documents/formats.py",
    "documents/docx.py",
    "documents/html.py",
    "documents/mentions.py",
    "documents/notebook.py",
    "documents/opened.py",
    "documents/outline.py",
    "documents/pdf.py",
    "documents/prose.py",
    "documents/split.py",
)
# what the facts of a commit depend on
_HISTORY = (
    _HERE / "log.py",
    _HERE / "hunks.py",
    _HERE / "history.py",
    *(_HERE.parent / "git" / name for name in ("launcher.py", "repository.py")),
    _HERE.parent / "patches.py",
    *(_HERE.parent / "text" / name for name in ("terms.py", "stems.py", "identifiers.py", "messages.py")),
)


def word_files() -> list[Path]:
    """What the words of a text depend on, the stemmer included: question and index must agree on them."""
    return [_TEXT / "identifiers.py", _TEXT / "terms.py", _TEXT / "stems.py", _STORE / "postings.py"]


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
        [
            *(_HERE / name for name in _EXTRACTION),
            *word_files(),
            _TEXT / "tokens.py",
            *sorted((_TEXT / "chunk").glob("*.py")),
            languages / "__init__.py",
            *sorted(languages.glob("*.scm")),
        ]
    )


@cache
def index_version() -> str:
    """Changes with anything that could change an index."""
    return _digest(
        [
            *sorted(_HERE.rglob("*.py")),
            *word_files(),
            _HERE.parent / "core" / "items.py",
            *(_STORE / name for name in ("files.py", "columns.py")),
            *sorted((_HERE / "languages").glob("*.scm")),
            *sorted((_HERE / "languages").glob("*.common")),
        ]
    )


@cache
def history_version() -> str:
    """Changes with anything that could change what is read from a commit."""
    return _digest([*_HISTORY])
