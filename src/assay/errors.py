"""Errors meant for people, and the message for a missing extra."""

from __future__ import annotations


class AssayError(Exception):
    """Something the user can act on. The message says what was wrong, where, and what to do; the command exits with 2."""

    exit_code = 2


# What is installed only by those who want it, and how to say so. The packages are named: on PyPI, `assay` is
# another project.

# the extras of pyproject.toml; a test holds both together
EXTRAS = {
    "dense": ("wordllama", "tokenizers"),
    "onnx": ("onnxruntime", "tokenizers"),
    "docs": ("pypdfium2",),
    "mcp": ("mcp", "watchfiles"),
    "watch": ("watchfiles",),
    "web": ("starlette", "uvicorn", "watchfiles"),
}


def install(extra: str) -> str:
    """The command that installs what an extra needs."""
    return f"pip install {' '.join(EXTRAS[extra])}"
