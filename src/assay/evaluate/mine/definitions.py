"""Which definitions the changed lines of a file lie in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.core.items import CALLABLE_KINDS, DATA_KINDS
from assay.evaluate.mine.log import Hunk

_SURROUNDINGS = frozenset({"file", "namespace"})  # around everything, about nothing
_NONE = -1


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition in a text; lines count from 1, both included."""

    symbol: str  # the qualified name, without a path
    kind: str
    start: int
    end: int
    doc: str = ""
    language: str = ""
    test: bool = False


# path and text of a file → its definitions; none for what it cannot read
Locator = Callable[[str, str], list[Definition]]


class Outline:
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

    def touched(self, hunks: Iterable[Hunk]) -> list[Definition]:
        """The innermost definitions the old sides of hunks lie in, in the order of the text."""
        found = {self._innermost(first, last) for hunk in hunks for first, last in hunk.places()} - {_NONE}
        return [self._definitions[number] for number in sorted(found)]
