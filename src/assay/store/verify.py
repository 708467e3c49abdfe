"""Verification of a generation that somebody else may have written: every row of the catalogue, every number of the arrays.

Checksums prove nothing here: whoever wrote the files could write those, too.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from assay.store.generation import Generation

_SYMBOLS = "SELECT (number << 32) | (file << 1) | test FROM symbols"  # one integer each: rows take three times as long
_FILE = (1 << 31) - 1


def damage(generation: Generation) -> str:
    """Return what is wrong with a generation; empty if every query finds what it may expect."""
    columns, postings, edges, meta = generation.columns, generation.postings, generation.edges, generation.meta
    for name, arrays in (("edges", edges), ("words", postings), ("columns", columns)):
        if arrays.digest != meta.get(name, ""):
            return f"{name}: wrong checksum"
    connection = generation.catalogue.connection
    try:
        generation.catalogue.verify()
        symbols = np.fromiter((row[0] for row in connection.execute(_SYMBOLS)), "<i8")
        files = np.array(connection.execute("SELECT number FROM files").fetchall(), "<i8")
        externals = np.array(connection.execute("SELECT number FROM externals").fetchall(), "<i8")
    except sqlite3.DatabaseError as error:
        return str(error)
    if not columns.are_of(symbols >> 32, symbols >> 1 & _FILE, symbols & 1):
        return "columns: not those of the symbols"
    exists = columns.kind > 0
    if not postings.is_consistent(exists):
        return "words: numbers out of range"
    if not edges.is_consistent(exists, externals, files):
        return "edges: numbers out of range"
    return ""
