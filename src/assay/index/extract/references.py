"""Build references from marks: which symbol uses which chain, without redundant ones."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from assay.index.chains import chain, last
from assay.index.extract.collect import Captures, Definition, Mark
from assay.index.extract.nest import CLASS_LIKE, FUNCTION_LIKE, Nesting
from assay.index.extract.registrations import read_arguments
from assay.index.extract.syntax import type_name
from assay.index.facts import (
    ACCESS,
    BASE,
    CALL,
    DECORATE,
    FILE,
    HINT,
    IMPLEMENTS,
    MENTION,
    NEW,
    THROW,
    Binding,
    Reference,
)
from assay.languages.conventions import LITERAL_NAMES
from assay.languages.rpc import REGISTRATION

_LITERAL = re.compile(r"""\s*[(\[]?\s*\[?\s*&?[fbru@$]{0,2}(["'`])([^"'`\n]{1,200})\1""")
_WITH_LITERALS = frozenset({CALL, ACCESS, DECORATE, NEW, MENTION})
_USES = frozenset({MENTION, ACCESS})
_COVERED = _USES | {HINT}
_CALLS = frozenset({CALL, NEW, DECORATE})
_NAMED_ONCE = frozenset({CALL, NEW, THROW, DECORATE, BASE})
_REPEATABLE = frozenset({MENTION, ACCESS, HINT, THROW})
# references before a definition's name belong to its container, except these
_BEFORE_NAME = frozenset({HINT, DECORATE, BASE, IMPLEMENTS, NEW})


Span = tuple[int, int]  # byte offsets of a reference in its file


def build_references(
    captures: Captures, nesting: Nesting, bindings: list[Binding]
) -> tuple[list[Reference], list[Span | None]]:
    """Return all references with their enclosing symbol, without redundant ones, and where each is written.

    Derived ones are written nowhere themselves.
    """
    order, line_starts = nesting.order, captures.line_starts
    shadowing, locals_ = captures.language.shadowing, {row[1] for row in captures.bindings}
    # first line of each local, by symbol and name
    bound = {(row.source, row.name): row.line for row in reversed(bindings) if not row.until}
    seen: set[tuple[int, int, str]] = set()
    out: list[Reference] = []
    spans: list[Span | None] = []
    for (start, end, role, text), owner, decorating in _separate_marks(captures, nesting):
        if role == MENTION and owner != FILE and _is_in_name(order[owner], start):
            continue
        if role == NEW and owner != FILE and (order[owner].hoisted or _is_before_anonymous_body(order[owner], start)):
            owner = order[owner].parent  # `this.x = new X()`, `new X() {…}`: a reference of the function
        source = nesting.symbol_at(owner, start, role in _BEFORE_NAME or decorating)
        line = bisect_right(line_starts, start)
        if role == MENTION:
            first_line = bound.get((source, text))
            if first_line is not None and (first_line < line or not shadowing):
                continue  # a local is not an item
        root, literal_may_follow, registers = _first_and_last(text)
        if role in _REPEATABLE and not literal_may_follow and root not in locals_:
            if (role, source, text) in seen:
                continue  # a duplicate that involves no local
            seen.add((role, source, text))
        row = Reference(role, source, line, text)
        _read_arguments(row, captures, start, end, literal_may_follow, registers)
        out.append(row)
        spans.append((start, end))
        if role == HINT and owner != FILE and order[owner].hoisted:
            _add_parameter_hint(out, nesting, owner, start)
        spans += [None] * (len(out) - len(spans))
    out += _impl_references(captures, nesting)
    return out, spans + [None] * (len(out) - len(spans))


def _read_arguments(
    row: Reference, captures: Captures, start: int, end: int, literal_may_follow: bool, registers: bool
) -> None:
    """Set what follows a reference from `start` to `end`: a literal, a handler, the number of arguments."""
    source, is_call = captures.source, row.role in _CALLS
    if literal_may_follow and row.role in _WITH_LITERALS:
        row.literal = _literal(source, _arguments_start(source, row.chain, start, end))
    elif registers and is_call:
        row.literal, row.handler = read_arguments(source, _arguments_start(source, row.chain, start, end))
    if is_call:
        row.arity = captures.arguments.get((start, end), -1)
        row.generics = _type_argument_count(source, start, end)


def _arguments_start(source: bytes, text: str, start: int, end: int) -> int:
    """Return where the arguments of a reference begin, which may be part of it."""
    return end if not text.endswith(")") else start + source[start:end].find(b"(")


def _separate_marks(captures: Captures, nesting: Nesting) -> Iterator[tuple[Mark, int, bool]]:
    """Yield marks with their definition, and whether they are in a decorator.

    Names inside an annotation, a base or a plain decorator, and a decorator's own receiver, are not separate mentions.
    """
    marks = _sorted_marks(captures, nesting)
    decorator = decorator_end = covered = covered_hint = -1
    for mark, owner in zip(marks, nesting.enclosing_definitions([m[0] for m in marks]), strict=True):
        start, end, role, text = mark
        if start < covered and role in _COVERED and (role != HINT or end <= covered_hint):
            continue
        if role == HINT:
            covered = covered_hint = end
        elif role == BASE or (role == DECORATE and "(" not in text):
            covered, covered_hint = end, -1
        if role == DECORATE:
            decorator, decorator_end = start, end
        elif start == decorator and role in _USES:
            continue
        yield mark, owner, start < decorator_end


def _sorted_marks(captures: Captures, nesting: Nesting) -> list[Mark]:
    """Return all marks in source order, wider ones first, without mentions of called, defined or imported names."""
    named_once = {(m[0], m[1]) for m in captures.marks if m[2] in _NAMED_ONCE}
    marks = captures.marks + _bare_calls(captures, nesting, named_once)
    if captures.parts:
        named_once |= captures.parts | {(s, e) for s, e, role, _ in marks if role == IMPLEMENTS}
    uses = [m for m in marks if m[2] in _USES and (m[0], m[1]) not in named_once]
    if captures.listed or captures.dotted:
        uses = [m for m in uses if not _is_defining(captures, m[0], m[1])]
    if captures.language.uniform_access:
        uses = [m for m in uses if m[0] not in captures.definitions or m[3].startswith("@")]
    marks = [m for m in marks if m[2] not in _USES] + uses
    if captures.import_spans:
        starts = [start for start, _ in captures.import_spans]
        ends = [0, *(end for _, end in captures.import_spans)]
        marks = [m for m in marks if m[0] >= ends[bisect_right(starts, m[0])]]
    marks.sort(key=lambda m: (m[0], -m[1], -m[2]))
    return marks


def _bare_calls(captures: Captures, nesting: Nesting, calls: set[tuple[int, int]]) -> list[Mark]:
    """Return the bare names that are calls: not locals, not defined or bound there, not part of a longer name."""
    if not captures.bare:
        return []
    rows = sorted(captures.bindings)
    owners = zip(rows, nesting.enclosing_definitions([row[0] for row in rows]), strict=True)
    bound = {(nesting.binding_owner(owner), row[1]) for row, owner in owners}
    not_calls = {row[0] for row in rows} | captures.definitions.keys()
    spans = captures.parts | calls
    candidates = sorted(
        mark
        for mark in captures.bare
        if mark[0] not in not_calls and mark[3] not in captures.language.declarations and mark[:2] not in spans
    )
    candidate_owners = zip(candidates, nesting.enclosing_definitions([mark[0] for mark in candidates]), strict=True)
    return [
        mark for mark, owner in candidate_owners if (nesting.symbol_at(owner, mark[0], False), mark[3]) not in bound
    ]


def _is_defining(captures: Captures, start: int, end: int) -> bool:
    """Return whether a name is in an export list, or in the dotted name of a definition (`app.use = function`)."""
    return start in captures.listed or end <= captures.dotted.get(start, 0)


def _is_in_name(definition: Definition, start: int) -> bool:
    """Return whether an offset is in the qualifier of a name: `Cart::` of a definition outside Cart."""
    name = definition.name
    return "::" in name and start < definition.name_start + len(name)


def _is_before_anonymous_body(definition: Definition, offset: int) -> bool:
    """Return whether an offset is in the head of a definition without a name."""
    return not definition.name and offset < definition.name_start


def _add_parameter_hint(out: list[Reference], nesting: Nesting, owner: int, start: int) -> None:
    """Add the type of a parameter that is also a field as a hint of the constructor, too."""
    parent = nesting.order[owner].parent
    constructor = nesting.order[parent] if parent != FILE else None
    if constructor and constructor.index != FILE and start < constructor.body:
        row = out[-1]
        out.append(Reference(row.role, constructor.index, row.line, row.chain))


def _impl_references(captures: Captures, nesting: Nesting) -> list[Reference]:
    """Return the IMPLEMENTS references of `impl Trait for Type` blocks."""
    out = []
    for number, definition in enumerate(nesting.order):
        if definition.kind == "scope" and definition.trait:
            at = nesting.nearest_symbol(nesting.enclosing(number, CLASS_LIKE | FUNCTION_LIKE))
            source = nesting.order[at].index if at != FILE else FILE
            for trait in definition.trait.split("\n"):
                text = chain(trait) or type_name(trait)
                out.append(Reference(IMPLEMENTS, source, captures.line(definition.start), text, definition.name))
    return out


def _literal(source: bytes, end: int) -> str:
    """Return the first literal argument after a call's name; empty if it is something else."""
    match = _LITERAL.match(source[end : end + 400].decode("utf-8", "replace"))
    return match.group(2) if match else ""


def _type_argument_count(source: bytes, start: int, end: int) -> int:
    """Count the type arguments at the end of a name such as `List<A, B<C, D>>`."""
    if source[end - 1 : end] != b">":
        return 0
    count, depth = 1, 0
    for letter in reversed(source[start:end]):
        depth += (letter in b">)]") - (letter in b"<([")
        if depth == 0:
            return count
        count += letter == 44 and depth == 1  # a comma
    return 0


@lru_cache(maxsize=1 << 16)
def _first_and_last(text: str) -> tuple[str, bool, bool]:
    """Return the first name of a chain, whether a literal after its last name is relevant, and its arguments."""
    name = last(text)
    return text.partition(".")[0].rstrip("()[]{}"), name in LITERAL_NAMES, REGISTRATION.fullmatch(name) is not None
