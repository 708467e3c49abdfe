"""The passages of several repositories, numbered one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from assay.core.passages import Passage
from assay.store.arrays import Array
from assay.store.passages import FIELDS, Passages
from assay.store.several.beside import firsts, joined, within


class PassagesOfAll(Passages):
    """The passages of several repositories by the same chunker."""

    def __init__(self, parts: Sequence[tuple[str, Passages]]) -> None:
        self._parts = parts
        self._firsts = firsts([len(passages) for _, passages in parts])
        self._size = sum(len(passages) for _, passages in parts)

    def __len__(self) -> int:
        return self._size

    @property
    def starts(self) -> Sequence[int]:
        return self._firsts

    def __getitem__(self, number: int) -> Passage:
        place, own = within(self._firsts, number)
        label, passages = self._parts[place]
        one = passages[own]
        return replace(one, number=number, id=f"{label}/{one.id}", path=f"{label}/{one.path}", repository=label)

    @cached_property
    def documents(self) -> Array:
        before = firsts([len(passages.paths) for _, passages in self._parts])
        return np.concatenate(
            [passages.documents + first for (_, passages), first in zip(self._parts, before, strict=True)]
        )

    @cached_property
    def lengths(self) -> Array:
        return np.concatenate([np.zeros((0, len(FIELDS)), "<i4"), *(passages.lengths for _, passages in self._parts)])

    @cached_property
    def paths(self) -> list[str]:
        return [f"{label}/{path}" for label, passages in self._parts for path in passages.paths]

    @cached_property
    def languages(self) -> list[str]:
        return [language for _, passages in self._parts for language in passages.languages]

    def having(self, term: str) -> tuple[Array, Array]:
        return joined([passages.having(term) for _, passages in self._parts], self._firsts)
