"""User errors, warnings that are printed once, and the install command for optional dependencies."""

from __future__ import annotations

import sys
import warnings

announced: set[str] = set()  # by this process


class AssayError(Exception):
    """An error that the user can act on: what is wrong, where, and what to do. The command exits with 2."""

    exit_code = 2


def announce(message: str, category: type[Warning]) -> None:
    """Warn once per process, and not in workers: servers repeat what they do, and workers do it, too."""
    processes = sys.modules.get("multiprocessing.process")
    if message in announced or (processes and processes.parent_process()):
        return
    announced.add(message)
    warnings.warn(message, category, stacklevel=1)


# The extras of pyproject.toml; a test compares both. Packages are named because `assay` on PyPI is another project.
EXTRAS = {
    "dense": ("wordllama", "tokenizers"),
    "onnx": ("onnxruntime", "tokenizers"),
    "cluster": ("distributed", "cryptography"),
    "docs": ("pypdfium2",),
    "mcp": ("mcp", "watchfiles"),
    "postgres": ("psycopg[binary]",),
    "remote": ("fsspec",),
    "watch": ("watchfiles",),
    "web": ("starlette", "uvicorn", "watchfiles"),
}


def install(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return f"pip install {' '.join(EXTRAS[extra])}"
