"""Settings of a repository that are data, read without git.

Git runs whatever `.git/config` tells it to. assay never shows git that file: it reads it here and hands on only the settings below,
which decide how objects, references and files are stored, and only with values that are single words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.system.files import read_regular

_LIMIT = 1_000_000  # bytes of a configuration: real ones have a few kilobytes
_CORE = frozenset((
    "repositoryformatversion", "filemode", "ignorecase", "precomposeunicode", "symlinks", "longpaths",  # the file system
    "autocrlf", "eol", "trustctime", "checkstat", "sparsecheckout", "sparsecheckoutcone",  # comparing files with the index
))  # fmt: skip
# the first would make git look for missing objects elsewhere, the second read another configuration
_NOT_EXTENSIONS = ("partialclone", "worktreeconfig")
_WORD = re.compile(r"[A-Za-z0-9.-]{1,40}")

_HEADER = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")
_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"?|[#;].*|([^"#;]+)')
_ESCAPE = re.compile(r"\\(.)")

Settings = Mapping[
    tuple[str, str, str], str
]  # by section and key, both in lower case, with the subsection between them


def read_settings(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the settings of a configuration file; none when it cannot be read. Files it includes are not read."""
    try:
        text = read_regular(path, _LIMIT).decode("utf-8", "replace")
    except (OSError, AssayError):
        return {}
    return dict(_parse(text))


def harmless(settings: Settings) -> str:
    """Return the settings that are handed on to git, as the text of a configuration file."""
    core = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("core", "")}
    extensions = {key: value for (section, sub, key), value in settings.items() if (section, sub) == ("extensions", "")}
    kept = {
        "core": {key: value for key, value in core.items() if key in _CORE},
        "extensions": {key: value for key, value in extensions.items() if key not in _NOT_EXTENSIONS},
    }
    lines = []
    for section, values in kept.items():
        lines.append(f"[{section}]")
        lines += [f"\t{key} = {value}" for key, value in values.items() if _WORD.fullmatch(value)]
    return "\n".join([*lines, "[core]", "\tbare = false", ""])


def is_partial(settings: Settings) -> bool:
    """Tell whether objects were left behind at a remote repository, to be fetched when they are needed."""
    return any(section == "remote" and key == "promisor" for section, _, key in settings)


def _parse(text: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    section, subsection = "", ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line.strip()
        while header := _HEADER.match(rest):
            name, _, old_style = header[1].partition(".")
            section, subsection = name.lower(), _ESCAPE.sub(r"\1", header[2] or "") or old_style.lower()
            rest = rest[header.end() :].strip()
        if setting := _SETTING.match(rest):
            value = "true" if setting[2] is None else _value(setting[2])
            yield (section, subsection, setting[1].lower()), value


def _value(written: str) -> str:
    """Return a value without its quotes and the comment behind it."""
    pieces = [_ESCAPE.sub(r"\1", quoted) if quoted else plain for quoted, plain in _PIECE.findall(written)]
    return "".join(pieces).strip()
