"""Extract the facts of a parsed file: definitions, references, imports, bindings and texts.

Driven by the language's query file: `collect` runs the query, `nest` builds symbols, `texts` and `words` their text.
Nothing here depends on a particular language.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from assay.index.chains import chain, last
from assay.index.extract.definition import Definition, type_name
from assay.index.extract.nest import CLASS_LIKE, FUNCTION_LIKE, MAX_VALUES
from assay.index.extract.texts import Texts
from assay.index.extract.words import count_words
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
    Extracted,
    FileFacts,
    FileTexts,
    Import,
    Reference,
    SymbolFact,
    TextFact,
    encode,
    encoded,
)
from assay.index.parser import count_errors, parse
from assay.languages import Language
from assay.languages.conventions import LITERAL_NAMES

_LITERAL = re.compile(
    r"""\s*[(\[]?\s*\[?\s*&?[fbru@$]{0,2}(["'`])([^"'`\n]{1,200})\1(?:\s*,\s*(?:["'][A-Z]+["']\s*,\s*)?&?([\w.:]+)|\s*\)?\s+(do)\b)?"""
)
_ANONYMOUS = re.compile(r"\s*,\s*(?:async\b|function\b|func\b|\(|\||\w+\s*=>)")
_METHODS = re.compile(r"""["'][^()]*?\bmethods\s*=\s*[\[{(]\s*["'](\w+)["']\s*,?\s*[\]})]""")
_VERBS = re.compile(
    r"(?:\.?(?:\w+::)*(?:get|post|put|delete|patch|head|options)\([\w.:]*\)\s*)+"
)  # `get(show).post(place)`
_SUPERTYPES = frozenset({BASE, IMPLEMENTS})
_WITH_LITERALS = frozenset({CALL, ACCESS, DECORATE, NEW, MENTION})
_USES = frozenset({MENTION, ACCESS})
_COVERED = _USES | {HINT}
_CALLS = frozenset({CALL, NEW, DECORATE})
_NAMED_ONCE = frozenset({CALL, NEW, THROW, DECORATE, BASE})
_REPEATABLE = frozenset({MENTION, ACCESS, HINT, THROW})
# references before a definition's name belong to its container, except these
_BEFORE_NAME = frozenset({HINT, DECORATE, BASE, IMPLEMENTS, NEW})


class FileReader(Texts):
    """Reads a whole file: symbols, references, imports, bindings and texts."""

    def facts(self) -> tuple[FileFacts, list[TextFact]]:
        """Return the facts and texts of the file after `read`."""
        self._nest_all()
        symbols = self._build_symbols()
        self._attach_values(symbols)
        bindings = self._build_bindings(symbols)
        for row in reversed(bindings):
            if not row.until:
                self.bound[row.source, row.name] = row.line
        references = self._build_references()
        out = FileFacts(
            self.language.name,
            self.namespace,
            symbols,
            [row for row in references if row.role in _SUPERTYPES],
            self._build_imports(),
            encoded([row for row in references if row.role not in _SUPERTYPES]),
            encoded(bindings),
        )
        return out, self._build_texts(symbols)

    def _bare_calls(self, calls: set[tuple[int, int]]) -> list[tuple[int, int, int, str]]:
        """Return the bare names that are calls: not locals, not defined or bound there, not part of a longer name."""
        if not self.bare:
            return []
        rows = sorted(self.bindings)
        defined_offsets = {row[0] for row in rows} | self.definitions.keys()
        owners = zip(rows, self._enclosing_definitions([row[0] for row in rows]), strict=True)
        bound = {(self._binding_owner(owner), row[1]) for row, owner in owners}
        candidates = [
            mark for mark in self.bare
            if mark[0] not in defined_offsets and mark[3] not in self.language.declarations and mark[:2] not in self.parts and mark[:2] not in calls
        ]  # fmt: skip
        candidates.sort()
        candidate_owners = zip(candidates, self._enclosing_definitions([mark[0] for mark in candidates]), strict=True)
        return [
            mark for mark, owner in candidate_owners if (self._symbol_at(owner, mark[0], False), mark[3]) not in bound
        ]

    def _sorted_marks(self) -> list[tuple[int, int, int, str]]:
        """Return all marks in source order, wider ones first, without mentions of called, defined or imported names."""
        calls = {(m[0], m[1]) for m in self.marks if m[2] in _NAMED_ONCE}
        self.marks += self._bare_calls(calls)
        if self.parts:
            calls |= self.parts | {(s, e) for s, e, role, _ in self.marks if role == IMPLEMENTS}
        uses = [m for m in self.marks if m[2] in _USES and (m[0], m[1]) not in calls]
        if self.listed or self.dotted:
            uses = [m for m in uses if not self._is_defining(m[0], m[1])]
        if self.language.uniform_access:
            uses = [m for m in uses if m[0] not in self.definitions or m[3].startswith("@")]
        marks = [m for m in self.marks if m[2] not in _USES] + uses
        if self.import_spans:
            starts = [start for start, _ in self.import_spans]
            ends = [0, *(end for _, end in self.import_spans)]
            marks = [m for m in marks if m[0] >= ends[bisect_right(starts, m[0])]]
        marks.sort(key=lambda m: (m[0], -m[1], -m[2]))
        return marks

    def _build_references(self) -> list[Reference]:
        """Return all references with their enclosing symbol, without redundant ones."""
        marks = self._sorted_marks()
        out: list[Reference] = []
        locals_, seen = {row[1] for row in self.bindings}, set[tuple[int, int, str]]()
        shadowing, order, bounds, line_starts = self.language.shadowing, self.order, self.bound, self.line_starts
        decorator = decorator_end = -1
        # names inside an annotation, a base or a plain decorator are not separate mentions
        covered = covered_hint = -1
        for (start, end, role, text), owner in zip(
            marks, self._enclosing_definitions([m[0] for m in marks]), strict=True
        ):
            if start < covered and role in _COVERED and (role != HINT or end <= covered_hint):
                continue
            if role == HINT:
                covered = covered_hint = end
            elif role == BASE or (role == DECORATE and "(" not in text):
                covered, covered_hint = end, -1
            if role == DECORATE:
                decorator, decorator_end = start, end
            elif start == decorator and role in _USES:
                continue  # the decorator's own receiver
            if role == MENTION and owner != FILE and self._is_in_name(order[owner], start):
                continue
            if role == NEW and owner != FILE and (order[owner].hoisted or self._is_before_anonymous_body(owner, start)):
                owner = order[owner].parent  # `this.x = new X()`, `new X() {…}`: a reference of the function
            source = self._symbol_at(owner, start, role in _BEFORE_NAME or start < decorator_end)
            line = bisect_right(line_starts, start)
            if (
                role == MENTION
                and (bound := bounds.get((source, text))) is not None
                and (bound < line or not shadowing)
            ):
                continue  # a local is not an item
            root, literal_may_follow = _first_and_last(text)
            if role in _REPEATABLE and not literal_may_follow and root not in locals_:
                if (role, source, text) in seen:
                    continue  # a duplicate that involves no local
                seen.add((role, source, text))
            row = Reference(role, source, line, text)
            if literal_may_follow and role in _WITH_LITERALS:
                after = end if not text.endswith(")") else start + self.source[start:end].find(b"(")
                row.literal, row.handler = self._literal_and_handler(after)
            if role in _CALLS:
                row.arity = self.arguments.get((start, end), -1)
                row.generics = _type_argument_count(self.source, start, end)
            out.append(row)
            if role == HINT and owner != FILE and order[owner].hoisted:
                self._add_parameter_hint(out, owner, start)
        return out + self._build_impl_references()

    @staticmethod
    def _is_in_name(definition: Definition, start: int) -> bool:
        """Return whether an offset is in the qualifier of a name: `Cart::` of a definition outside Cart."""
        name = definition.name
        return "::" in name and start < definition.name_start + len(name)

    def _build_impl_references(self) -> list[Reference]:
        """Return the IMPLEMENTS references of `impl Trait for Type` blocks."""
        out = []
        for number, definition in enumerate(self.order):
            if definition.kind == "scope" and definition.trait:
                at = self._nearest_symbol(self._enclosing(number, CLASS_LIKE | FUNCTION_LIKE))
                source = self.order[at].index if at != FILE else FILE
                for trait in definition.trait.split("\n"):
                    text = chain(trait) or type_name(trait)
                    out.append(Reference(IMPLEMENTS, source, self.line(definition.start), text, definition.name))
        return out

    def _is_before_anonymous_body(self, owner: int, offset: int) -> bool:
        """Return whether an offset is in the head of a definition without a name."""
        return not self.order[owner].name and offset < self.order[owner].name_start

    def _add_parameter_hint(self, out: list[Reference], owner: int, start: int) -> None:
        """Add the type of a parameter that is also a field as a hint of the constructor, too."""
        constructor = self.order[self.order[owner].parent]
        if self.order[owner].parent != FILE and constructor.index != FILE and start < constructor.body:
            row = out[-1]
            out.append(Reference(row.role, constructor.index, row.line, row.chain))

    def _is_defining(self, start: int, end: int) -> bool:
        """Return whether a name is in an export list, or in the dotted name of a definition (`app.use = function`)."""
        return start in self.listed or end <= self.dotted.get(start, 0)

    def _literal_and_handler(self, end: int) -> tuple[str, str]:
        """Return the first literal argument after a call's name and the handler after it; empty if missing."""
        text = self.source[end : end + 400].decode("utf-8", "replace")
        match = _LITERAL.match(text)
        if not match:
            return "", ""
        verb = _METHODS.match(text, match.end(2))
        literal = f"{verb.group(1)} {match.group(2)}" if verb else match.group(2)
        if _ANONYMOUS.match(text, match.end(2) + 1):
            return literal, "do"
        if match.group(3) and (verbs := _VERBS.match(text, match.start(3))):
            return literal, verbs.group()
        return literal, match.group(3) or match.group(4) or ""

    def _build_imports(self) -> list[Import]:
        rows = sorted(self.imports)
        owners = self._enclosing_definitions([row[0] for row in rows])
        return [
            Import(self.line(start), module, name, alias, export, self._symbol_at(owner, start, False))
            for (start, module, name, alias, export), owner in zip(rows, owners, strict=True)
        ]

    def _build_bindings(self, symbols: list[SymbolFact]) -> list[Binding]:
        globals_ = {
            (self._symbol_at(owner, at, True), name)
            for (at, name), owner in zip(
                self.globals, self._enclosing_definitions([g[0] for g in self.globals]), strict=True
            )
        }
        rows = sorted(self.bindings)
        out = []
        for (start, name, type_text, value), owner in zip(
            rows, self._enclosing_definitions([r[0] for r in rows]), strict=True
        ):
            if owner != FILE and self.order[owner].hoisted:
                owner = self.order[owner].parent
            source = self._symbol_at(owner, start, True)
            if name.startswith("<") and owner != FILE and self.order[owner].kind == "scope":
                out += [
                    Binding(d.index, self.line(start), name, type_text)
                    for d in self.order
                    if d.parent == owner and d.index != FILE
                ]
                continue  # a type parameter of an impl block is one of every member
            lambda_start = self._lambda_around(start)
            until = self._lambda_end_line(owner, lambda_start)
            if start in self.parameters and source != FILE and not until:
                symbols[source].arity = max(symbols[source].arity, 0) + 1
                symbols[source].optional += start in self.optional
                symbols[source].variadic = symbols[source].variadic or start in self.variadic
            visible_in_class = name.startswith("<") or start in self.parameters or not self.language.closures or until
            if source != FILE and symbols[source].kind in CLASS_LIKE and not visible_in_class:
                continue  # comprehension variables in a class body
            if (source, name) not in globals_:
                out.append(Binding(source, self.later.get(start) or self.line(start), name, type_text, value, until))
        return out

    def _lambda_end_line(self, owner: int, lambda_start: int) -> int:
        """Return the last line of the anonymous function at `lambda_start`; 0 if it is a definition's body or none."""
        if lambda_start < 0:
            return 0
        symbol_at = self._nearest_symbol(owner)
        definition = self.order[symbol_at] if symbol_at != FILE else None
        if definition and lambda_start < (definition.body or definition.name_start):
            return 0
        return self.line(self.lambdas[bisect_right(self.lambda_starts, lambda_start) - 1][1])

    def _attach_values(self, symbols: list[SymbolFact]) -> None:
        """Record returned values of functions, used if the result type is not declared."""
        rows = sorted(self.returns)
        for (start, value), owner in zip(rows, self._enclosing_definitions([r[0] for r in rows]), strict=True):
            source = self._symbol_at(owner, start, True)
            if self._lambda_end_line(owner, self._lambda_around(start)):
                continue  # returned by an anonymous function
            if source != FILE and len(symbols[source].values) < MAX_VALUES and value not in symbols[source].values:
                symbols[source].values.append(value)


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
def _first_and_last(text: str) -> tuple[str, bool]:
    """Return the first name of a chain, and whether a literal after its last name is relevant."""
    return text.partition(".")[0].rstrip("()[]{}"), last(text) in LITERAL_NAMES


def extract(source: bytes, language: Language) -> Extracted:
    """Return the encoded facts of a source text. Never fails on bad code: the parser recovers and counts errors."""
    tree = parse(source, language)
    reader = FileReader(source, language)
    reader.read(tree)
    facts, texts = reader.facts()
    facts.errors = count_errors(tree.root_node)
    counted = FileTexts(texts, count_words(facts.symbols, texts))
    return Extracted(encode(facts), encode(counted), source.count(b"\n") + 1)
