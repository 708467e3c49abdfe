"""Edges: one structured array, sorted by source, with a permutation by target. Memory-mapped when read.

External targets are negative: -n is external number n of the catalogue.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.core.items import EDGE_NAMES, PROVENANCES
from assay.store.arrays import Array, array_of
from assay.store.generation import MappedFiles

NAME, ORDER_NAME = "edges.npy", "edges_by_target.npy"

DTYPE = np.dtype(
    [
        ("source", "<i4"),
        ("target", "<i4"),
        ("type", "u1"),
        ("provenance", "u1"),
        ("confidence", "<f4"),
        ("line", "<i4"),
        ("file", "<i4"),
    ]
)

_MOST = (1 << 31) - 1
_ROW = f"V{DTYPE.itemsize}"  # an edge as one value: numpy moves it ten times as fast as its fields


def from_rows(rows: Iterable[tuple[int, int, int, int, float, int, int]]) -> Array:
    return np.array(list(rows), dtype=DTYPE)


def write(folder: Path, edges: Array) -> str:
    """Save edges sorted by source and target, and their order by target; return the digest."""
    keys = _keys(edges)
    if np.any(keys[1:] < keys[:-1]):
        edges = edges[np.argsort(keys)]
    # sorting (target, position) as one number is much faster than a stable sort of the targets
    keyed_positions = np.sort((edges["target"].astype("<i8") + (1 << 31)) << 31 | np.arange(len(edges)))
    order = (keyed_positions & ((1 << 31) - 1)).astype("<i4")
    np.save(folder / NAME, edges)
    np.save(folder / ORDER_NAME, order)
    return _digest(edges, order)


def replaced(edges: Array, stays: Array, more: Array) -> Array:
    """Return the sorted edges selected by `stays`, with `more` merged in."""
    remaining = edges.view(_ROW)[stays]
    more = more[np.argsort(_keys(more))]
    positions = np.searchsorted(_keys(remaining.view(DTYPE)), _keys(more))
    out: Array = np.insert(remaining, positions, more.view(_ROW)).view(DTYPE)
    return out


def _keys(edges: Array) -> Array:
    """Return source and target as one sort key."""
    keys: Array = edges["source"].astype("<i8") << 32 | edges["target"].astype("<i8") + (1 << 31)
    return keys


def _digest(edges: Array, order: Array) -> str:
    """Return the number of edges and a checksum."""
    return f"{len(edges)} {zlib.crc32(order.data, zlib.crc32(edges.view('u1').data)):08x}"


def _bounds(numbers: Array, number: int) -> tuple[int, int]:
    """Return the range of a value among sorted numbers.

    Searched in their dtype: numpy would convert the whole array.
    """
    low, high = np.searchsorted(numbers, np.array((number, number + 1), numbers.dtype))
    return int(low), int(high)


class Edges:
    """The edges between the items of an index."""

    def __init__(self, edges: Array, order: Array) -> None:
        self.all = edges
        self._order = order

    @cached_property
    def _sources(self) -> Array:
        return np.ascontiguousarray(self.all["source"])

    @cached_property
    def _targets(self) -> Array:
        return np.ascontiguousarray(self.all["target"][self._order])

    @classmethod
    def open(cls, maps: MappedFiles) -> Edges:
        return cls(array_of(maps, NAME, DTYPE), array_of(maps, ORDER_NAME, "<i4"))

    @classmethod
    def joined(cls, parts: Sequence[tuple[Edges, int, int]]) -> Edges:
        """Concatenate the edges of several parts, each given with its item and file offset.

        In target order, external targets come first, as in a single part, which stays as it is, memory-mapped.
        """
        if len(parts) == 1:
            return parts[0][0]
        edges, external, internal, offset = [], [], [], 0
        for part, first, first_file in parts:
            rows, order = part.all.copy(), part.by_target + np.int32(offset)
            external_count = int((rows["target"] < 0).sum())
            rows["source"] += first
            rows["target"][rows["target"] > 0] += first
            rows["file"] += first_file
            edges.append(rows)
            external.append(order[:external_count])
            internal.append(order[external_count:])
            offset += len(rows)
        return cls(np.concatenate(edges), np.concatenate([*external, *internal]))

    @property
    def digest(self) -> str:
        return _digest(self.all, self._order)

    def is_consistent(self, exists: Array, externals: Array, files: Array) -> bool:
        """Return whether the edges are sorted and all of their numbers exist: items (a flag by number), externals, files."""
        edges, order = self.all, self._order
        if len(order) != len(edges) or not all(
            bool(np.all((numbers >= low) & (numbers <= high)))
            for numbers, low, high in (
                (edges["source"], 0, len(exists) - 1), (edges["target"], -_MOST, len(exists) - 1), (edges["type"], 0, len(EDGE_NAMES) - 1),
                (edges["provenance"], 0, len(PROVENANCES) - 1), (edges["confidence"], 0, 1), (edges["line"], 0, _MOST),
                (edges["file"], -_MOST, _MOST), (order, 0, len(edges) - 1),
            )
        ):  # fmt: skip
            return False
        keys, targets, outside = _keys(edges), self._targets, edges["target"] < 0
        return bool(
            np.all(keys[1:] >= keys[:-1])
            and np.all(targets[1:] >= targets[:-1])
            and np.all(exists[edges["source"]])
            and np.all(exists[edges["target"][~outside]])
            and np.all(np.isin(-edges["target"][outside], externals))
            and np.all(np.isin(np.abs(edges["file"]), files))
        )

    @property
    def by_target(self) -> Array:
        """Positions of all edges in order of their targets."""
        return self._order

    def out_of(self, number: int) -> Array:
        low, high = _bounds(self._sources, number)
        return self.all[low:high]

    def into(self, number: int) -> Array:
        low, high = _bounds(self._targets, number)
        return self.all[self._order[low:high]]

    def counts(self) -> Array:
        """Number of edges per type code."""
        return np.bincount(self.all["type"], minlength=1)
