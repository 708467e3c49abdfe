"""User errors, and the install command for optional dependencies."""

from __future__ import annotations


class AssayError(Exception):
    """An error that the user can act on: what is wrong, where, and what to do. The command exits with 2."""

    exit_code = 2


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
