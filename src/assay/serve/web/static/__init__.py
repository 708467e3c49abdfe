"""Static files: style sheets, scripts and the icon, cached in memory and addressed by content hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# name in the URL → (package, file, media type); the first two are shared with the reports
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
    """Return a static file by name, or None for an unknown one."""
    if name not in _FILES:
        return None
    package, file, media_type = _FILES[name]
    content = files(package).joinpath(file).read_bytes()
    return Static(content, f"{media_type}; charset=utf-8", hashlib.sha256(content).hexdigest()[:12])


def address(name: str) -> str:
    file = static(name)
    return f"/static/{name}?v={file.digest if file else ''}"
