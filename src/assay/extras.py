"""What is installed only by those who want it, and how to say so. The packages are named: on PyPI, `assay` is another project."""

from __future__ import annotations

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
