"""Chunkers: a text → the passages it is searched and cited by. Each is named, sized and versioned; its name is part of a passage's identity."""

from __future__ import annotations

from assay.text.chunk.chunker import CHUNKERS, DEFAULT, Chunker, parse
from assay.text.chunk.text import Chunk, Part, Text

__all__ = ["CHUNKERS", "DEFAULT", "Chunk", "Chunker", "Part", "Text", "parse"]
