"""Indexing: scan a folder, extract facts from files, resolve references, write items and edges. Start at `pipeline`."""

from __future__ import annotations
