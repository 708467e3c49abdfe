"""Which definitions the lines of a text lie in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from assay.core.items import CALLABLE_KINDS, DATA_KINDS

_SURROUNDINGS = frozenset({"file", "namespace"})  # around everything, about nothing
_NONE = -1


class Spanned(Protocol):
    """A definition with its lines, counted from 1, both included."""

    @property
    def kind(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


Definition = TypeVar("Definition", bound=Spanned)


class Outline(Generic[Definition]):
    """The definitions of one text, nested: every line has an innermost one, or none."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._definitions: list[Definition] = []
        self._parents: list[int] = []
        self._owners: list[int] = []  # by line: the innermost definition
        for definition in sorted(definitions, key=lambda d: (d.start, -d.end)):
            if definition.kind not in _SURROUNDINGS:
                self._add(definition)

    def __bool__(self) -> bool:
        return bool(self._definitions)

    def _add(self, definition: Definition) -> None:
        parent = self._innermost(definition.start, definition.end)
        if parent != _NONE and definition.kind in DATA_KINDS and self._definitions[parent].kind in CALLABLE_KINDS:
            return  # what a function assigns is a part of the function
        number = len(self._definitions)
        self._definitions.append(definition)
        self._parents.append(parent)
        self._owners += [_NONE] * (definition.end + 1 - len(self._owners))
        self._owners[definition.start : definition.end + 1] = [number] * (definition.end + 1 - definition.start)

    def _innermost(self, first: int, last: int) -> int:
        number = self._owners[first] if first < len(self._owners) else _NONE
        while number != _NONE and self._definitions[number].end < last:
            number = self._parents[number]
        return number

    def touched(self, places: Iterable[tuple[int, int]]) -> list[Definition]:
        """The innermost definitions around ranges of lines, in the order of the text."""
        found = {self._innermost(first, last) for first, last in places} - {_NONE}
        return [self._definitions[number] for number in sorted(found)]
