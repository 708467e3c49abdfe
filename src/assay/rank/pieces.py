"""Typed pieces of a task: paths and stack frames."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.rank.vocabulary import word_set

PIECES = 100  # pieces per kind: a pasted log may hold thousands

# Quantifiers are bounded and lines are anchored, so that no text takes quadratic time.
# One row per stack frame format; more specific formats first.
_FRAMES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r'^[ \t]*File "(?P<path>[^"\n]{1,300})", line (?P<line>\d{1,7})(?:, in (?P<function>[\w.<>]{1,200}))?',  # Python
        r"^[ \t]*at (?P<function>[^\n]{1,300}?) in (?P<path>[^\n]{1,300}?):line (?P<line>\d{1,7})",  # C#
        r"^[ \t]*at (?:[\w.@-]{1,100}/{1,2})?(?P<function>[\w.$<>]{1,300})\((?P<path>\w{1,200}\.\w{1,6}):(?P<line>\d{1,7})\)",  # Java
        r"^[ \t]*at (?:async |new )?(?P<function>[^\n()]{1,200}) \((?P<path>[^\n()]{1,300}?):(?P<line>\d{1,7}):\d{1,7}\)",  # JavaScript
        r"^[ \t]*\d{1,4}: (?:0x[0-9a-f]{1,16} - )?(?P<function>[^\n]{1,300})\n[ \t]{1,40}at (?P<path>[^\s:]{1,300}):(?P<line>\d{1,7})",  # Rust
        r"^(?P<function>[\w./*()\[\]-]{1,200})\([^\n]{0,300}\)\n[ \t]{1,8}(?P<path>[^\s:]{1,300}\.go):(?P<line>\d{1,7})",  # Go
        r"^[ \t]*(?:from )?(?P<path>[^\s:]{1,300}\.\w{1,5}):(?P<line>\d{1,7}):in [`'](?P<function>[^'\n]{1,200})'",  # Ruby
        r"panicked at (?:'[^'\n]{0,300}', )?(?P<path>[^\s:]{1,300}\.rs):(?P<line>\d{1,7})(?P<function>)",  # Rust panic location
        r"^[ \t]*at (?:async )?(?P<path>[^\s()]{1,300}\.[cm]?[jt]sx?):(?P<line>\d{1,7}):\d{1,7}(?P<function>)",  # JavaScript, anonymous
    )
)
_URL = re.compile(r"\b[a-zA-Z][\w+.-]{1,20}://[^\s<>\"'`)\]]{1,2000}")

_TOKEN = re.compile(r"[^\s\"'`()\[\]{}<>,;|“”‘’*]+")
_PATH = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?(?:~|\.{1,2})?[/\\]?(?:[\w.@+-]+[/\\])*[\w.@+-]+[/\\]?)"
    r"(?:(?::|#L)(?P<line>\d{1,7})(?:[:-]L?\d{1,7})?)?"
)
_EXTENSION = re.compile(r"[^/.]\.[A-Za-z]\w{0,7}$")
# a bare `name.ext` is a file only with one of these extensions; `foo.bar` is not
_FILE_EXTENSIONS = word_set("""
bash c cc cfg conf cpp cs css csv cxx dart erb ex exs gemspec go gradle h haml hpp htm html ini ipynb java jinja js json jsx kt kts less lock lua
m md mjs mm php pl properties proto ps1 py pyi r rb rs rst sass scala scm scss sh sql svelte swift tf toml ts tsx txt vue xml yaml yml zig
""")


@dataclass(frozen=True, slots=True)
class Piece:
    """A typed piece. `kind` is path or frame; `text` is its display form."""

    kind: str
    text: str
    path: str = ""
    line: int = 0  # 0 = unknown
    function: str = ""


def separate(task: str) -> tuple[tuple[Piece, ...], str]:
    """Return the typed pieces of a task, and its prose: the text without stack frames and URLs."""
    prose, frames = task, []
    for pattern in _FRAMES:
        frames += [(match.start(), _frame(match)) for match in pattern.finditer(prose)]
        prose = pattern.sub(lambda match: _blank(match.group()), prose)
    prose = _URL.sub(lambda match: _blank(match.group()), prose)
    stack = [frame for _, frame in sorted(frames, key=lambda pair: pair[0])]
    return (*_limit(stack), *_limit(_paths(prose))), prose


def is_file_name(token: str) -> bool:
    """Return whether a bare word is a file name: `app.py`, not `foo.bar`."""
    stem, _, extension = token.rpartition(".")
    return bool(stem) and extension.lower() in _FILE_EXTENSIONS


def _limit(pieces: list[Piece]) -> list[Piece]:
    return list(dict.fromkeys(pieces))[:PIECES]


def _blank(text: str) -> str:
    """Replace text by blanks, keeping line breaks, so that positions stay valid."""
    return re.sub(r"[^\n]", " ", text)


def _frame(match: re.Match[str]) -> Piece:
    path, function = _forward_slashes(match["path"]), _clean_function(match["function"] or "")
    return Piece("frame", f"{path}:{match['line']}", path, int(match["line"]), function)


def _clean_function(text: str) -> str:
    """Normalize a function: `(*Server).Serve` → Server.Serve; `Ns.C.M(String a)` → Ns.C.M; `m::f::h0123…` → m::f."""
    text = re.sub(r"\(\*?(\w+)\)", r"\1", text)
    text = re.sub(r"(?:::h[0-9a-f]{16}|<(?:module|anonymous|lambda)>)$", "", text.strip().partition("(")[0])
    text = re.sub(r"^(?:block|rescue|ensure)(?: \(\d+ levels\))? in ", "", text)
    return text.strip(". ").rpartition("/")[2].rpartition(" ")[2]


def _forward_slashes(path: str) -> str:
    return path.replace("\\", "/")


def _paths(text: str) -> list[Piece]:
    pieces = []
    for token in _TOKEN.findall(text):
        match = _PATH.fullmatch(token.rstrip(".:!?")) if len(token) <= 300 else None
        if match is None:
            continue
        path = _forward_slashes(match["path"])
        if _is_path(path):
            line = int(match["line"] or 0)
            pieces.append(Piece("path", f"{path}:{line}" if line else path, path, line))
    return pieces


def _is_path(path: str) -> bool:
    """Return whether text is a path: has an extension, a leading or trailing slash or three parts; not `and/or`."""
    if "/" not in path:
        return is_file_name(path)
    parts = [part for part in path.split("/") if part.strip(".")]
    return bool(parts) and bool(
        _EXTENSION.search(path) or path.startswith(("/", "./", "../", "~/")) or path.endswith("/") or len(parts) > 2
    )
