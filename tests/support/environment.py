"""A fixed home, locale, time zone and umask for tests."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

# variables that would change what git, a terminal or assay itself does
_FOREIGN = (
    "GIT_",
    "ASSAY_",
    "XDG_",
    "LC_",
    "LANG",
    "GITHUB_",
    "CI",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "PAGER",
    "PG",
)
# an error in resolving a file is reported like any problem of that file; here it is a bug, and raised (index/resolve);
# no process outlives a test
_FIXED = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "ASSAY_RAISE": "1", "ASSAY_BACKGROUND": "off"}


def isolate() -> Path:
    """Move this process to a new, empty home folder; return it, for whoever removes it."""
    home = Path(tempfile.mkdtemp(prefix="assay-home-"))
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        del os.environ[name]
    os.environ.update(
        _FIXED, HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"), XDG_CACHE_HOME=str(home / ".cache")
    )
    time.tzset()
    os.umask(0o022)
    return home
