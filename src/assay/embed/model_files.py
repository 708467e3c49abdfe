"""Reading what models are made of: tensors (safetensors), tokenizers and small JSON files, with one clear error when something is missing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from assay.embed.embedders import WAYS
from assay.errors import AssayError
from assay.extras import install

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_HEADER_LIMIT = 100 << 20  # bytes; the format allows no more


def tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped: only what is used is read."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > _HEADER_LIMIT:
                raise ValueError("its header is too long")
            header = json.loads(file.read(size))
        data = np.memmap(path, "u1", "r", offset=8 + size)
        return {name: _tensor(data, row) for name, row in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AssayError(f"{path}: cannot be read as safetensors ({error})") from None


def _tensor(data: NDArray[np.uint8], row: dict[str, Any]) -> NDArray[Any]:
    first, last = row["data_offsets"]
    raw = data[first:last]
    if row["dtype"] == "BF16":  # the upper half of a float of four bytes
        return (raw.view("<u2").astype("<u4") << 16).view("<f4").reshape(row["shape"])
    kind = np.dtype(_TYPES[row["dtype"]])
    if len(raw) != kind.itemsize * math.prod(row["shape"]):
        raise ValueError("it is cut short")
    return raw.view(kind).reshape(row["shape"])


def tokenizer(path: Path, extra: str) -> Any:
    """The tokenizer of a tokenizer.json; needs the tokenizers package."""
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        missing("the package 'tokenizers' is not installed", extra)
    if not path.is_file():
        raise AssayError(f"{path}: there is no such tokenizer. {WAYS}")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing narrower
        raise AssayError(f"{path}: cannot be read as a tokenizer ({error})") from None


def record(path: Path) -> dict[str, Any]:
    """A small JSON file; empty when there is none."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AssayError(f"{path}: cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise AssayError(f"{path}: must hold an object")
    return found


def missing(what: str, extra: str) -> NoReturn:
    """Says what is not there, how to install it, and what else there is."""
    raise AssayError(f"{what}: {install(extra)}. {WAYS}")


def batched(
    lengths: list[int], size: int, run: Callable[[list[int]], NDArray[np.float32]], width: int
) -> NDArray[np.float32]:
    """Rows made by `run` in batches of texts of similar length, so that little of a batch is padding."""
    rows = np.zeros((len(lengths), width), np.float32)
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    for first in range(0, len(order), size):
        part = order[first : first + size]
        rows[part] = run(part)
    return rows
