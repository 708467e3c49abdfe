"""Style, scripts and the icon: read once, sent with an address that changes when they do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# name in addresses → package, file, type; reports have the first two as well
_FILES = {
    "report.css": ("assay.html", "page.css", "text/css"),
    "report.js": ("assay.html", "page.js", "text/javascript"),
    "app.css": (__package__, "app.css", "text/css"),
    "app.js": (__package__, "app.js", "text/javascript"),
    "icon.svg": (__package__, "icon.svg", "image/svg+xml"),
}


@dataclass(frozen=True, slots=True)
class Static:
    content: bytes
    type: str
    digest: str


@cache
def static(name: str) -> Static | None:
    """A file by its name; None for what is not one of ours."""
    if name not in _FILES:
        return None
    package, file, kind = _FILES[name]
    content = files(package).joinpath(file).read_bytes()
    return Static(content, f"{kind}; charset=utf-8", hashlib.sha256(content).hexdigest()[:12])


def address(name: str) -> str:
    found = static(name)
    return f"/static/{name}?v={found.digest if found else ''}"
