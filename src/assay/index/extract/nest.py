"""Nest definitions by position: which one encloses an offset, and which symbol it belongs to."""

from __future__ import annotations

import re
from bisect import bisect_right

from assay.core.items import TYPE_KINDS
from assay.index.extract.collect import Captures
from assay.index.facts import FILE

CLASS_LIKE = TYPE_KINDS | {"module", "namespace"}
FUNCTION_LIKE = frozenset({"function", "method", "constructor", "property", "macro"})
_DATA = frozenset({"variable", "field", "constant", "type"})


class Nesting:
    """The definitions of a file, nested. Numbers are positions in `order`, FILE stands for the file itself."""

    def __init__(self, captures: Captures) -> None:
        _widen_over_attributes(captures)
        # by start, the outer ones first
        self.order = sorted(captures.definitions.values(), key=lambda d: (d.start, -d.end))
        self._line = captures.line
        self._lambdas = sorted(captures.lambdas)
        self._lambda_starts = [start for start, _ in self._lambdas]
        self._set_parents()
        self._set_lambda_parents()

    def _set_parents(self) -> None:
        """Set each definition's parent to the innermost enclosing definition."""
        order, stack = self.order, list[int]()
        for number, definition in enumerate(order):
            while stack and order[stack[-1]].end < definition.end:
                stack.pop()
            while stack and order[stack[-1]].end <= definition.start:
                stack.pop()
            top = order[stack[-1]] if stack else None
            same_span = top and (top.start, top.end) == (definition.start, definition.end)
            if top and same_span and top.kind in _DATA and definition.kind in _DATA:
                stack.pop()  # `int a, b;`: siblings
            definition.parent = stack[-1] if stack else FILE
            stack.append(number)

    def _set_lambda_parents(self) -> None:
        self._lambda_parents: list[int] = []
        stack: list[int] = []
        for number, (start, _) in enumerate(self._lambdas):
            while stack and self._lambdas[stack[-1]][1] <= start:
                stack.pop()
            self._lambda_parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def enclosing(self, number: int, kinds: frozenset[str]) -> int:
        """Return the nearest definition around `number`, itself excluded, with one of the kinds."""
        at = self.order[number].parent
        while at != FILE and self.order[at].kind not in kinds:
            at = self.order[at].parent
        return at

    def enclosing_definitions(self, offsets: list[int]) -> list[int]:
        """For ascending offsets, return the number of the innermost definition around each (FILE for none)."""
        out, stack, next_number = list[int](), list[int](), 0
        order = self.order
        for offset in offsets:
            while next_number < len(order) and order[next_number].start <= offset:
                while stack and order[stack[-1]].end <= order[next_number].start:
                    stack.pop()
                stack.append(next_number)
                next_number += 1
            while stack and order[stack[-1]].end <= offset:
                stack.pop()
            at = len(stack) - 1
            while at >= 0 and order[stack[at]].end <= offset:  # a short sibling may hide a longer one
                at -= 1
            out.append(stack[at] if at >= 0 else FILE)
        return out

    def nearest_symbol(self, at: int) -> int:
        """Return the nearest enclosing definition, `at` included, that became a symbol."""
        while at != FILE and self.order[at].index == FILE:
            at = self.order[at].parent
        return at

    def symbol_at(self, owner: int, offset: int, own: bool) -> int:
        """Return the symbol that code at `offset` inside definition `owner` belongs to.

        With `own`, code before a definition's name counts as part of it.
        """
        while owner != FILE:
            definition = self.order[owner]
            if definition.index != FILE and (own or (offset >= definition.name_start and not definition.hoisted)):
                return definition.index
            owner = definition.parent
        return FILE

    def binding_owner(self, owner: int) -> int:
        """Return the symbol that owns a local. Locals in a field's value belong to the assigning function."""
        while owner != FILE and (self.order[owner].index == FILE or self.order[owner].hoisted):
            owner = self.order[owner].parent
        return self.order[owner].index if owner != FILE else FILE

    # Anonymous functions

    def _lambda_number(self, offset: int) -> int:
        at = bisect_right(self._lambda_starts, offset) - 1
        while at >= 0 and self._lambdas[at][1] <= offset:
            at = self._lambda_parents[at]
        return at

    def lambda_around(self, offset: int) -> int:
        """Return the start of the innermost anonymous function around an offset, or -1."""
        at = self._lambda_number(offset)
        return self._lambda_starts[at] if at >= 0 else -1

    def lambda_end_line(self, owner: int, offset: int) -> int:
        """Return the last line of the anonymous function around an offset; 0 if it is a definition's body or none."""
        start = self.lambda_around(offset)
        if start < 0:
            return 0
        symbol_at = self.nearest_symbol(owner)
        definition = self.order[symbol_at] if symbol_at != FILE else None
        if definition and start < (definition.body or definition.name_start):
            return 0
        return self._line(self._lambdas[bisect_right(self._lambda_starts, start) - 1][1])


def _widen_over_attributes(captures: Captures) -> None:
    """Extend the span of definitions over preceding attributes that the grammar leaves outside (Rust `#[test]`)."""
    prefix = captures.language.attributes
    if not prefix:
        return
    source, line_starts = captures.source, captures.line_starts
    for definition in captures.definitions.values():
        above = captures.line(definition.start) - 2  # index of the line above
        while above >= 0:
            line = source[line_starts[above] : line_starts[above + 1]]
            if not re.match(prefix, line.strip().decode("utf-8", "replace")):
                break
            definition.start = line_starts[above] + len(line) - len(line.lstrip())
            above -= 1
