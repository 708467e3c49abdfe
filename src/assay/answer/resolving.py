"""Whether a citation resolves: its span is in the document and says what is quoted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay.answer.reply import Source
from assay.store.files import decode, read_bytes
from assay.store.passages import Passages

_MADE = frozenset({"html", "pdf", "docx", "notebook"})  # formats whose text is made of the file: their passages have it
_LIMIT = 64 << 20  # bytes that are read of a file


def resolves(source: Source, root: Path, passages: Passages) -> bool:
    """Reads the lines of the file; of a format whose text is made of it, the passage that is cited."""
    if source.language in _MADE:
        return _in_passages(source, passages)
    try:
        lines = decode(read_bytes(root, source.path, _LIMIT)).data.decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    cited = [line.rstrip() for line in lines[source.start - 1 : source.end]]
    return bool(cited) and cited == [line.rstrip() for line in source.text.split("\n")]


def _in_passages(source: Source, passages: Passages) -> bool:
    if source.path not in passages.paths:
        return False
    numbers = np.flatnonzero(passages.documents == passages.paths.index(source.path)).tolist()
    return any(passages[number].id == source.id and source.text in passages[number].text for number in numbers)
