"""One file's text → its facts. Driven by the language's query; nothing here knows a particular language.

The query marks definitions, names and bindings anywhere in the tree; their nesting is recovered from their positions in one sweep.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any

from tree_sitter import Node, Parser, QueryCursor, Tree

from assay.core.items import TYPE_KINDS
from assay.ingest import facts as F
from assay.ingest.chains import chain, last
from assay.ingest.conventions import LITERAL_NAMES
from assay.ingest.languages import Language

PARSE_SECONDS = 20.0  # a file that takes longer is left out: it is data, not code
LARGE = 200_000  # bytes; smaller files cannot take that long
PIECE = 8192  # bytes handed to the parser at once, between two looks at the clock
MAX_CHAIN = 3000  # bytes of an expression that is still looked at as a name
MAX_SIGNATURE = 300
MAX_DOC = 3000
MAX_WORDS = 6000  # characters of body identifiers, and of literals, kept per symbol
MAX_EMBEDDED = 3  # macros inside the arguments of macros
MAX_VALUES = 3  # assigned values remembered per field

_CLASS_LIKE = TYPE_KINDS | {"module", "namespace"}
_FUNCTION_LIKE = frozenset({"function", "method", "constructor", "property", "macro"})
_DATA = frozenset({"variable", "field", "constant", "type"})
_VALUE_KINDS = frozenset({"function", "class"})
_SPACE = re.compile(r"\s+")
_WORDS = re.compile(rb'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|`([^`]*)`|([^\W\d]\w+)')
_LITERAL = re.compile(r"""\s*[(\[]?\s*\[?\s*&?[fbru@$]{0,2}(["'`])([^"'`\n]{1,200})\1(?:\s*,\s*(?:["'][A-Z]+["']\s*,\s*)?&?([\w.:]+)|\s*\)?\s+(do)\b)?""")
_ANONYMOUS = re.compile(r"\s*,\s*(?:async\b|function\b|func\b|\(|\||\w+\s*=>)")
_METHODS = re.compile(r"""["'][^()]*?\bmethods\s*=\s*[\[{(]\s*["'](\w+)["']\s*,?\s*[\]})]""")
_VERBS = re.compile(r"(?:\.?(?:\w+::)*(?:get|post|put|delete|patch|head|options)\([\w.:]*\)\s*)+")  # `get(show).post(place)`
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TYPE_ARGUMENTS = re.compile(r"[<\[].*[>\]]", re.S)
_COMMENT_MARKS = re.compile(r"^\s*(?:///?!?|//!|#+!?|/\*+!?|\*+/?|--+|;+|<!--)\s?|\s*\*+/\s*$|\s*-->\s*$")

# captures that say what a match is; every pattern has exactly one of them
_ROLES = {
    "call": F.CALL,
    "bare": F.CALL,
    "new": F.NEW,
    "mention": F.MENTION,
    "access": F.ACCESS,
    "hint": F.HINT,
    "throw": F.THROW,
    "decorator": F.DECORATE,
    "base": F.BASE,
    "implements": F.IMPLEMENTS,
}
_OTHER_ROLES = frozenset({"import", "local", "param", "loop", "return", "doc", "namespace", "global", "scope", "test", "typeparam", "tokens"}) | {"extension", "lambda", "part"}
_WITH_LITERALS = frozenset({F.CALL, F.ACCESS, F.DECORATE, F.NEW, F.MENTION})
_REPEATABLE = frozenset({F.MENTION, F.ACCESS, F.HINT, F.THROW})
# what stands before a definition's name belongs to its container, except these
_OF_THE_DEFINITION = frozenset({F.HINT, F.DECORATE, F.BASE, F.IMPLEMENTS, F.NEW})


# definitions and imports that macros are given are not theirs to make
_NOT_IN_TOKENS = frozenset({"def", "scope", "import"})


class ParseTimeout(Exception):
    """The parser did not finish in PARSE_SECONDS."""


@dataclass(slots=True)
class _Definition:
    """A definition or a bare scope (an impl block), while its file is being read. Offsets are bytes."""

    start: int
    end: int
    kind: str
    name: str
    name_start: int
    body: int
    type: str = ""
    value: str = ""
    receiver: str = ""
    hoisted: bool = False
    bound: bool = False  # an item only where a variable would be one
    test: bool = False
    trait: str = ""
    parent: int = F.FILE
    index: int = F.FILE  # of the symbol it became; FILE for scopes and locals
    children: list[tuple[int, int]] = field(default_factory=list)


@cache
def _parser(language: Language) -> Parser:
    return Parser(language.grammar_object)


@cache
def _cursors(language: Language) -> tuple[QueryCursor, QueryCursor]:
    grouped, single = language.query_objects
    return QueryCursor(grouped), QueryCursor(single)


@cache
def _pattern_roles(language: Language) -> dict[int, tuple[str, str]]:
    """Per pattern number, its role and the capture that says so; filled as patterns first match."""
    return {}


def extract(source: bytes, language: Language, path: str = "") -> F.Extracted:
    """Everything `source` says, encoded. Never fails on bad code: the parser recovers and errors are counted."""
    tree = _parse(source, language)
    reader = _FileReader(source, language, path)
    reader.read(tree)
    facts, texts = reader.facts()
    facts.errors = _count_errors(tree.root_node)
    return F.Extracted(F.encode(facts), F.encode(texts), source.count(b"\n") + 1)


def _parse(source: bytes, language: Language) -> Tree:
    parser = _parser(language)
    if len(source) < LARGE:
        return parser.parse(source)
    deadline = monotonic() + PARSE_SECONDS
    # handing the text out piece by piece is the only way to stop: the binding's progress callback crashes (tree-sitter 0.26.0)
    tree = parser.parse(lambda at, _: source[at : at + PIECE] if monotonic() < deadline else b"")
    if monotonic() >= deadline:
        raise ParseTimeout
    return tree


def _count_errors(root: Node) -> int:
    """Top-most error nodes; a clean file costs one flag test."""
    if not root.has_error:
        return 0
    errors, cursor = 0, root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if node.is_error or node.is_missing:
            errors += 1
        elif node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return max(errors, 1)


class _FileReader:
    """Collects the matches of one file, then nests them."""

    def __init__(self, source: bytes, language: Language, path: str) -> None:
        self.source, self.language, self.path = source, language, path
        self.chain = _uniform_chain if language.uniform_access else chain
        self.line_starts = [0, *(m.end() for m in re.finditer(rb"\n", source))]
        self.definitions: dict[int, _Definition] = {}  # by offset of the name: the widest match wins
        self.marks: list[tuple[int, int, int, str]] = []  # start, end, role, chain
        self.bindings: list[tuple[int, str, str, str]] = []  # start, name, type, value
        self.parameters: set[int] = set()
        self.optional: set[int] = set()  # those that may be left out
        self.variadic: set[int] = set()  # those that take any number of arguments
        self.arguments: dict[tuple[int, int], int] = {}  # number of arguments of the call at a span
        self.returns: list[tuple[int, str]] = []
        self.docs: list[tuple[int, str]] = []
        self.imports: list[tuple[int, str, str, str, bool]] = []
        self.globals: list[tuple[int, str]] = []
        self.parts: set[tuple[int, int]] = set()  # spans of names that are only a part of a larger one
        self.bare: list[tuple[int, int, int, str]] = []  # like marks: calls unless they turn out to be locals
        self.lambdas: list[tuple[int, int]] = []  # spans of anonymous functions
        self.listed: set[int] = set()  # offsets of names in imports and export lists: no mentions
        self.dotted: dict[int, int] = {}  # start and end of definitions' dotted names
        self.import_bound: set[int] = set()  # offsets of local names that imports bind: no variables
        self.tests: list[int] = []
        self.bound: dict[tuple[int, str], int] = {}  # first line of each local, by symbol and name
        self.later: dict[int, int] = {}  # locals that are not known yet inside their own declaration: its last line
        self.import_spans: list[tuple[int, int]] = []
        self.tokens: list[tuple[int, int]] = []
        self.namespace = ""

    # -- collecting ----------------------------------------------------------------------------------------------

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


    def line(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def read(self, tree: Tree) -> None:
        self._read_node(tree.root_node, frozenset())
        for _ in range(MAX_EMBEDDED):
            if self.tokens:
                self._read_tokens()

    def _read_node(self, root: Node, left_out: frozenset[str]) -> None:
        roles = _pattern_roles(self.language)
        grouped, single = _cursors(self.language)
        for pattern, captures in grouped.matches(root):
            role = roles.get(pattern)
            if role is None:
                role = roles[pattern] = _role_of(captures)
            if role[0] not in left_out:
                self._collect(role[0], role[1], captures)
        for name, nodes in single.captures(root).items():
            if name == "hint":
                for node in nodes:
                    self._collect_hint(node)
            else:
                self._collect_single(name, nodes)

    def _collect_single(self, name: str, nodes: list[Node]) -> None:
        """Marks that stand alone: the bulk of what a file says, so without detours."""
        source, append, role, chained = self.source, self.marks.append, _ROLES[name], self.chain
        ignored = self.language.self_names if name != "call" else self.language.declarations
        for node in nodes:
            start, end = node.byte_range
            if end - start <= MAX_CHAIN:
                text = chained(source[start:end].decode("utf-8", "replace"))
                if text and text not in ignored:
                    append((start, end, role, text))

    def _collect_hint(self, node: Node) -> None:
        start = node.start_byte
        text = self.source[start : min(node.end_byte, start + 2000)].decode("utf-8", "replace")
        self.marks.append((start, node.end_byte, F.HINT, text))

    def _read_tokens(self) -> None:
        """Reads what macros are given, which the grammar leaves as tokens, as the expressions it nearly always is: in its brackets, as
        a tuple, an array or a block. All else is blank, so that places stay what they are."""
        pieces, self.tokens = sorted(self.tokens), []
        text = bytearray(b" ") * (pieces[-1][1] + 1)
        for start, end in pieces:
            text[start : end + 1] = self.source[start:end] + b";"
        self._read_node(_parse(bytes(text), self.language).root_node, _NOT_IN_TOKENS)

    def _collect(self, role: str, capture: str, captures: dict[str, list[Node]]) -> None:
        if role == "def":
            self._collect_definition(capture, captures)
        elif role in _ROLES:
            self._collect_mark(role, captures)
        elif role == "import":
            self._collect_import(captures)
        elif role in ("local", "param", "loop"):
            type_text = self._optional(captures, "type")
            value = self.chain(self._optional(captures, "value"))
            if type_text in self.language.inferred:
                type_text = ""
            if "member" in captures:
                type_text, value = "", self._member_value(captures, type_text, value)
            if role == "loop" and value:
                value += "[]"
            start = captures["at"][0].start_byte if "at" in captures else -1
            later = self.line(captures["after"][0].end_byte) if "after" in captures else 0
            for node in captures[role]:
                if role == "param":
                    self.parameters.add(node.start_byte)
                    if "optional" in captures:
                        self.optional.add(node.start_byte)
                    if "variadic" in captures:
                        self.variadic.add(node.start_byte)
                        type_text = type_text if type_text.endswith("[]") else type_text + "[]"
                place = _place_in(node, captures["pattern"][0], captures["value"][0]) if value and "pattern" in captures else ""
                if later:
                    self.later[node.start_byte] = later
                self.bindings.append((node.start_byte if start < 0 else start, self.text(node), type_text, value + place))
        elif role == "extension":
            self.bindings.append((captures[role][0].start_byte, "<this>", self._optional(captures, "type"), ""))
        elif role == "typeparam":
            for node in captures[role]:
                self.bindings.append((node.start_byte, f"<{self.text(node)}>", self._optional(captures, "type"), ""))
        elif role == "return":
            node = captures["return"][0]
            value = self.chain(self.text(node)) if node.end_byte - node.start_byte < 400 else ""
            if value:
                self.returns.append((node.start_byte, value))
        elif role == "doc":
            node = captures["doc"][0]
            self.docs.append((node.start_byte, _strip_quotes(self.text(node))))
        elif role == "scope":
            node = captures["scope"][0]
            name = captures["name"][0]
            known = self.definitions.setdefault(
                name.start_byte,
                _Definition(node.start_byte, node.end_byte, "scope", _type_name(self.text(name)), node.start_byte, node.start_byte),
            )
            known.trait = "\n".join(filter(None, (known.trait, self._optional(captures, "trait"))))
        elif role == "namespace":
            self.namespace = _SPACE.sub("", self.text(captures["namespace"][0]))
        elif role == "global":
            self.globals += [(node.start_byte, self.text(node)) for node in captures["global"]]
        elif role == "tokens":
            self.tokens += [(node.start_byte, node.end_byte) for node in captures["tokens"]]
        elif role == "lambda":
            node = captures["lambda"][0]
            self.lambdas.append((node.start_byte, node.end_byte))
        elif role == "part":
            self.parts.update((node.start_byte, node.end_byte) for node in captures["part"])
        elif role == "test":
            self.tests += [node.start_byte for node in captures["test"]]

    def _optional(self, captures: dict[str, list[Node]], name: str) -> str:
        nodes = captures.get(name)
        if not nodes:
            return ""
        node = nodes[0]
        if node.end_byte - node.start_byte > 2000:
            return ""
        return self.text(node).strip()

    def _member_value(self, captures: dict[str, list[Node]], type_text: str, value: str) -> str:
        """The chain of one name taken out of an object: `{ store } = shop` is shop.store, `{ store }: Shop` that of some Shop."""
        name = re.match(r"[:\s]*([\w$.]+)$", type_text)
        value = f"{name.group(1)}{{}}" if name else value
        return f"{value}.{self.text(captures['member'][0])}" if value else ""

    def _collect_definition(self, capture: str, captures: dict[str, list[Node]]) -> None:
        node, body = captures[capture][0], captures.get("body")
        if "name" not in captures:
            self._collect_anonymous(node, body, capture[4:])
            return
        name = captures["name"][0]
        kind = capture[4:]
        known = self.definitions.get(name.start_byte)
        if known and known.kind in _VALUE_KINDS and kind == "variable":
            return  # a variable that holds a function or class is that function or class
        if known and known.kind == "variable" and kind in _VALUE_KINDS:
            known = None
        if known:
            # a second pattern for the same name: the wider span (decorators) and the more telling kind win
            if known.kind == kind or kind in ("function", "variable") or known.kind in ("property", "constant"):
                kind = known.kind
            if node.start_byte > known.start or node.end_byte < known.end:
                known.kind = kind
                known.type = known.type or self._optional(captures, "type")
                known.value = known.value or self.chain(self._optional(captures, "value"))
                return
        value = captures.get("value")
        if name.child_count:
            self.dotted[name.start_byte] = name.end_byte
        self.definitions[name.start_byte] = _Definition(
            node.start_byte,
            node.end_byte if "open" not in captures else len(self.source),
            kind,
            self.text(name) + ("[]" if "element" in captures else ""),
            name.start_byte,
            body[0].start_byte if body else 0,
            type=self._optional(captures, "type") or (known.type if known else ""),
            value=self._definition_value(captures) if value else (known.value if known else ""),
            receiver=_type_name(self._optional(captures, "receiver")) or (known.receiver if known else ""),
            hoisted="self" in captures,
            bound="bound" in captures,
            test="test" in captures,
        )

    def _definition_value(self, captures: dict[str, list[Node]]) -> str:
        value = self.chain(self._optional(captures, "value"))
        return self._member_value(captures, "", value) if "member" in captures else value

    def _collect_anonymous(self, node: Node, body: list[Node] | None, kind: str) -> None:
        """A definition without a name: what stands before its body, such as constructor arguments, belongs to its container."""
        start = body[0].start_byte if body else node.start_byte
        self.definitions[start] = _Definition(node.start_byte, node.end_byte, kind, "", start, start)

    def _collect_mark(self, role: str, captures: dict[str, list[Node]]) -> None:
        node = captures[role][0]
        start = node.start_byte
        if role == "hint":
            self._collect_hint(node)
            return
        if role == "bare":
            self.bare.append((start, node.end_byte, F.CALL, self.text(node)))
            return
        callee = captures.get("callee")
        end = callee[0].end_byte if callee else node.end_byte
        if callee and self.language.uniform_access:
            self.parts.add((callee[0].start_byte, end))
        if arguments := captures.get("args"):
            if role == "decorator":
                end = arguments[0].end_byte
            self.arguments[start, end] = arguments[0].named_child_count
        raw = self.source[start:end].decode("utf-8", "replace") if end - start <= MAX_CHAIN else ""
        if "type" in captures:  # `new(…)` and members in an initialiser: of a type written elsewhere
            raw = self._optional(captures, "type") + (f"{{}}.{raw}" if role == "access" else "")
        text = self.chain(raw)
        if not text or (text in self.language.self_names and role in ("mention", "access")):
            return
        if text in self.language.declarations and role == "call":
            return
        if role in ("base", "implements") and (inside := _TYPE_ARGUMENTS.search(raw)):
            self.marks.append((start + len(raw[: inside.start()].encode()), node.end_byte, F.HINT, inside.group()))
        self.marks.append((start, end, _ROLES[role], text))

    def _collect_import(self, captures: dict[str, list[Node]]) -> None:
        node = captures["import"][0]
        module = self._optional(captures, "module").strip("\"'`<>")
        if node in captures.get("module", ()):  # the whole import stands for its path: without the keyword and the selectors
            module = re.split(r"\s*\.\s*(?:\{|_$|\*$|given$)", module.partition(" ")[2].strip())[0]
        if node.type == "future_import_statement":
            module = "__future__"
        alias = self._optional(captures, "alias")
        export = "export" in captures
        if "tree" in captures:
            self.import_spans.append((node.start_byte, node.end_byte))
            text = _COMMENT.sub("", self.text(captures["tree"][0]))
            self.imports += [(node.start_byte, *row, export) for row in _import_tree(_SPACE.sub(" ", text))]
            return
        if "own" in captures:
            module = "self"
        names = captures.get("imported")
        named = {n.start_byte for n in (*captures.get("alias", ()), *(names or ()))}
        self.listed |= named
        if module:
            self.import_bound |= named
        if "default" in captures:
            if module:
                self.imports.append((node.start_byte, module, "default", alias, export))
                return
            alias = "default"
        for name in [self.text(n).strip("\"'`") for n in names] if names else ["*" if "star" in captures else ""]:
            self.imports.append((node.start_byte, module, name, alias, export))

    # -- nesting -------------------------------------------------------------------------------------------------

    def facts(self) -> tuple[F.FileFacts, list[F.TextFact]]:
        self._widen_over_attributes()
        self.order = sorted(self.definitions.values(), key=lambda d: (d.start, -d.end))
        self._nest()
        self._nest_lambdas()
        symbols = self._symbols()
        self._attach_values(symbols)
        bindings = self._bindings(symbols)
        for row in reversed(bindings):
            if not row.until:
                self.bound[row.source, row.name] = row.line
        out = F.FileFacts(
            self.language.name, self.namespace, symbols, self._references(), self._imports(), bindings
        )
        return out, self._texts(symbols)

    def _widen_over_attributes(self) -> None:
        """Attributes that the grammar puts beside a definition (Rust `#[test]`) belong to its span."""
        prefix = self.language.attributes
        if not prefix:
            return
        for definition in self.definitions.values():
            line = self.line(definition.start) - 2  # index of the line above
            while line >= 0:
                start = self.line_starts[line]
                text = self.source[start : self.line_starts[line + 1]].strip().decode("utf-8", "replace")
                if not re.match(prefix, text):
                    break
                definition.start = start + len(self.source[start : self.line_starts[line + 1]]) - len(
                    self.source[start : self.line_starts[line + 1]].lstrip()
                )
                line -= 1

    def _nest(self) -> None:
        """Gives every definition its innermost enclosing one."""
        stack: list[int] = []
        for number, definition in enumerate(self.order):
            while stack and self.order[stack[-1]].end < definition.end:
                stack.pop()
            while stack and self.order[stack[-1]].end <= definition.start:
                stack.pop()
            top = self.order[stack[-1]] if stack else None
            if top and (top.start, top.end) == (definition.start, definition.end) and top.kind in _DATA and definition.kind in _DATA:
                stack.pop()  # `int a, b;`: beside each other
            definition.parent = stack[-1] if stack else F.FILE
            stack.append(number)

    def _enclosing(self, number: int, wanted: frozenset[str]) -> int:
        """The nearest definition of a wanted kind around definition `number`, itself excluded."""
        at = self.order[number].parent
        while at != F.FILE and self.order[at].kind not in wanted:
            at = self.order[at].parent
        return at

    def _symbols(self) -> list[F.SymbolFact]:
        """Turns definitions into symbols: kinds by container, qualified names, repeated names numbered, locals left out."""
        language, symbols = self.language, list[F.SymbolFact]()
        counts: dict[str, int] = {}
        fields: dict[tuple[int, str], int] = {}
        anonymous: dict[int, int] = {}
        self._mark_enums()
        members = {(d.parent, d.name) for d in self.order if d.kind in ("function", "property") and not d.hoisted}
        constructors = {d.name.partition(".prototype.")[0] for d in self.order if ".prototype." in d.name}
        for number, definition in enumerate(self.order):
            if definition.kind == "scope":
                continue
            at = definition.parent
            scope = definition.receiver
            if definition.hoisted:
                at = self._enclosing(number, _CLASS_LIKE | {"scope"})
                if at == F.FILE:
                    scope = self._object_around(number, constructors)
                if (at == F.FILE and not scope) or (at, definition.name) in members:
                    continue  # no type around it, or a property is set
            holder = self.order[at] if at != F.FILE else None
            if holder and holder.kind == "scope":
                scope = scope or holder.name
                at = self._enclosing(at, _CLASS_LIKE | _FUNCTION_LIKE) if at != F.FILE else at
                at = self._real(at)
            elif holder and holder.index == F.FILE:
                at = self._real(at)
            holder = self.order[at] if at != F.FILE else None
            kind = definition.kind
            if definition.name_start in self.import_bound or (definition.bound and self._in_local(definition)):
                continue
            local = kind in ("variable", "constant") or definition.bound
            local = local or (kind == "function" and not definition.body and self.language.prototypes)
            if local and not definition.hoisted and self._is_local(definition, holder):
                self.bindings.append((definition.name_start, definition.name, definition.type, definition.value))
                continue
            name, scope = self._split_name(definition, kind, scope)
            if not name:
                anonymous[at] = anonymous.get(at, 0) + 1
                name = f"${anonymous[at]}"
            kind = self._kind(kind, name, holder, scope)
            parent = holder.index if holder else F.FILE
            if kind in ("field", "constant", "variable") and not definition.receiver:
                first = fields.setdefault((parent, f"{scope}.{name}"), len(symbols))
                if first != len(symbols):
                    if definition.value and len(symbols[first].values) < MAX_VALUES:
                        symbols[first].values.append(definition.value)
                    symbols[first].type = symbols[first].type or definition.type
                    continue
            symbol = self._qualified(definition, name, kind, scope, symbols[parent] if parent != F.FILE else None)
            counts[symbol] = counts.get(symbol, 0) + 1
            definition.index = len(symbols)
            symbols.append(
                F.SymbolFact(
                    name, kind, symbol, counts[symbol], parent,
                    self.line(definition.start), self.line(max(definition.end - 1, definition.start)),
                    scope, definition.type, [definition.value] if definition.value else [],
                    self._is_test(definition, holder), -1, self._is_stub(definition, kind), static=self._is_static(definition, kind),
                )
            )
        return symbols

    def _is_local(self, definition: _Definition, holder: _Definition | None) -> bool:
        """A variable in a function, named or not."""
        if holder and holder.kind in _FUNCTION_LIKE:
            return True
        inside = self._lambda_around(definition.name_start)
        return inside >= 0 and (holder is None or inside >= holder.name_start)

    def _in_local(self, definition: _Definition) -> bool:
        """A function in an object that is itself a local."""
        above = self.order[definition.parent] if definition.parent != F.FILE else None
        return above is not None and above.kind == "variable" and above.index == F.FILE

    def _object_around(self, number: int, constructors: set[str]) -> str:
        """Where `this.x = …` outside any type defines x: in the object or constructor function that its function belongs to."""
        at = self.order[number].parent
        while at != F.FILE:
            definition = self.order[at]
            if definition.kind == "function":
                if "." in definition.name or ":" in definition.name:
                    head = definition.name.replace(":", ".").rpartition(".")[0].removesuffix(".prototype")
                    return "" if head in ("exports", "module.exports", "module") else head
                if definition.name in constructors:
                    return definition.name
                above = self.order[definition.parent] if definition.parent != F.FILE else None
                if above and above.kind == "variable" and above.index != F.FILE:
                    return above.name
            at = definition.parent
        return ""

    def _lambda_around(self, offset: int) -> int:
        """Where the innermost anonymous function around an offset starts, or -1. They nest, so the first open one above it is it."""
        at = bisect_right(self.lambda_starts, offset) - 1
        while at >= 0 and self.lambdas[at][1] <= offset:
            at = self.lambda_parents[at]
        return self.lambda_starts[at] if at >= 0 else -1

    def _nest_lambdas(self) -> None:
        self.lambdas.sort()
        self.lambda_starts = [start for start, _ in self.lambdas]
        self.lambda_parents: list[int] = []
        stack: list[int] = []
        for number, (start, _) in enumerate(self.lambdas):
            while stack and self.lambdas[stack[-1]][1] <= start:
                stack.pop()
            self.lambda_parents.append(stack[-1] if stack else -1)
            stack.append(number)

    def _mark_enums(self) -> None:
        """A class is an enum if one of its bases says so."""
        bases = self.language.enum_bases
        if not bases:
            return
        marks = sorted(m for m in self.marks if m[2] == F.BASE and last(m[3]) in bases)
        for owner in self._owners([m[0] for m in marks]):
            if owner != F.FILE and self.order[owner].kind == "class":
                self.order[owner].kind = "enum"

    def _real(self, at: int) -> int:
        """The nearest enclosing definition that became a symbol."""
        while at != F.FILE and self.order[at].index == F.FILE:
            at = self.order[at].parent
        return at

    def _split_name(self, definition: _Definition, kind: str, scope: str) -> tuple[str, str]:
        """`Foo::bar` written outside Foo is bar in scope Foo; `A::B` as a type stays one path."""
        name = definition.name
        if kind in _CLASS_LIKE:
            return re.split(r"::|[.\\]", name)[-1], scope
        if "::" in name:
            head, _, name = name.rpartition("::")
            scope = scope or (re.sub(r"<.*>|\s", "", head) if self.language.prototypes else _type_name(head))
        elif "." in name:  # obj.method = function, X.prototype.y = function, Lua's function M.f
            head, _, name = name.replace(":", ".").rpartition(".")
            head = head.removesuffix(".prototype")
            if head not in ("exports", "module.exports", "module"):
                scope = scope or head
            elif head == "module":
                name = "default"
        elif ":" in name:
            scope, _, name = name.rpartition(":")
        return name, scope

    def _kind(self, kind: str, name: str, holder: _Definition | None, scope: str) -> str:
        in_class = bool(scope) or (holder is not None and holder.kind in _CLASS_LIKE and holder.kind != "namespace")
        if kind in ("function", "method") and name in self.language.constructors and in_class:
            return "constructor"
        if kind == "function" and in_class and not self._free(holder, scope):
            return "method"
        if kind == "function" and holder is not None and holder.kind in ("variable", "field", "constant"):
            return "method"
        if kind == "method" and not in_class and holder is None:
            return "function"
        if kind == "variable":
            if holder is not None and holder.kind == "enum" and self.language.enum_bases:
                return "constant"
            if self.language.constant_pattern.fullmatch(name) and not (holder and holder.kind in TYPE_KINDS):
                return "constant"
            if holder is not None and holder.kind in TYPE_KINDS:
                return "field"
        return kind

    def _free(self, holder: _Definition | None, scope: str) -> bool:
        """Functions directly in a namespace or a Rust/TypeScript module are free; in a Ruby module they are methods."""
        return not scope and holder is not None and holder.kind == "module" and self.language.name != "ruby"

    def _qualified(
        self, definition: _Definition, name: str, kind: str, scope: str, parent: F.SymbolFact | None
    ) -> str:
        separator = self.language.separator
        own = _SPACE.sub("", definition.name).replace("\\", ".") if kind in _CLASS_LIKE and definition.name else name
        if separator == "." and kind in _CLASS_LIKE:
            own = own.replace("::", ".")
        if scope:
            prefix = f"{parent.symbol}{separator}" if parent and parent.kind in _CLASS_LIKE else ""
            return f"{prefix}{scope}.{own}"
        if parent is None:
            return own
        joint = separator if kind in _CLASS_LIKE else "."
        if parent.kind == "namespace":
            joint = separator
        return f"{parent.symbol}{joint}{own}"

    def _is_test(self, definition: _Definition, holder: _Definition | None) -> bool:
        pattern = self.language.test_pattern
        if not definition.test and pattern is not None:
            head = self.source[definition.start : definition.name_start].decode("utf-8", "replace")
            definition.test = bool(pattern.search(head))
        definition.test = definition.test or bool(holder and holder.test)
        return definition.test

    def _is_static(self, definition: _Definition, kind: str) -> bool:
        marker = self.language.static_marker
        if not marker or kind != "method":
            return False
        return marker.encode() in self.source[definition.start : definition.name_start].split()

    def _is_stub(self, definition: _Definition, kind: str) -> bool:
        """A signature without a body, or marked as an overload of the definition that follows."""
        if kind not in _FUNCTION_LIKE:
            return False
        return not definition.body or b"@overload" in self.source[definition.start : definition.name_start]

    # -- attaching what lies inside --------------------------------------------------------------------------------

    def _owners(self, offsets: list[int]) -> list[int]:
        """For ascending offsets, the definition number that encloses each (FILE for none)."""
        out, stack, nxt = list[int](), list[int](), 0
        order = self.order
        for offset in offsets:
            while nxt < len(order) and order[nxt].start <= offset:
                while stack and order[stack[-1]].end <= order[nxt].start:
                    stack.pop()
                stack.append(nxt)
                nxt += 1
            while stack and order[stack[-1]].end <= offset:
                stack.pop()
            at = len(stack) - 1
            while at >= 0 and order[stack[at]].end <= offset:  # a short sibling may hide a longer one
                at -= 1
            out.append(stack[at] if at >= 0 else F.FILE)
        return out

    def _binding_owner(self, owner: int) -> int:
        """The symbol whose local something is: what is written in a field's value is a local of the function that assigns it."""
        while owner != F.FILE and (self.order[owner].index == F.FILE or self.order[owner].hoisted):
            owner = self.order[owner].parent
        return self.order[owner].index if owner != F.FILE else F.FILE

    def _symbol_at(self, owner: int, offset: int, own: bool) -> int:
        """The symbol that code at `offset` inside definition `owner` belongs to."""
        while owner != F.FILE:
            definition = self.order[owner]
            if definition.index != F.FILE and (own or (offset >= definition.name_start and not definition.hoisted)):
                return definition.index
            owner = definition.parent
        return F.FILE

    def _bare_calls(self, known: set[tuple[int, int]]) -> list[tuple[int, int, int, str]]:
        """The bare names that are calls: no locals, not defined or bound there, not part of a larger name."""
        if not self.bare:
            return []
        rows = sorted(self.bindings)
        places = {row[0] for row in rows} | self.definitions.keys()
        owners = zip(rows, self._owners([row[0] for row in rows]), strict=True)
        bound = {(self._binding_owner(owner), row[1]) for row, owner in owners}
        left = [
            mark for mark in self.bare
            if mark[0] not in places and mark[3] not in self.language.declarations and mark[:2] not in self.parts and mark[:2] not in known
        ]  # fmt: skip
        left.sort()
        owners_left = zip(left, self._owners([mark[0] for mark in left]), strict=True)
        return [mark for mark, owner in owners_left if (self._symbol_at(owner, mark[0], False), mark[3]) not in bound]

    def _references(self) -> list[F.Reference]:
        calls = {(s, e) for s, e, role, _ in self.marks if role in (F.CALL, F.NEW, F.THROW, F.DECORATE, F.BASE)}
        self.marks += self._bare_calls(calls)
        if self.parts:
            calls |= self.parts | {(s, e) for s, e, role, _ in self.marks if role == F.IMPLEMENTS}
        marks = [m for m in self.marks if m[2] not in (F.MENTION, F.ACCESS) or (m[0], m[1]) not in calls]
        if self.listed or self.dotted:
            marks = [m for m in marks if m[2] not in (F.MENTION, F.ACCESS) or not self._defining(m[0], m[1])]
        if self.language.uniform_access:
            marks = [m for m in marks if m[2] not in (F.MENTION, F.ACCESS) or m[0] not in self.definitions or m[3].startswith("@")]
        if self.import_spans:
            starts = [start for start, _ in self.import_spans]
            ends = [0, *(end for _, end in self.import_spans)]
            marks = [m for m in marks if m[0] >= ends[bisect_right(starts, m[0])]]
        marks.sort(key=lambda m: (m[0], -m[1], -m[2]))
        out: list[F.Reference] = []
        locals_, seen = {row[1] for row in self.bindings}, set[tuple[int, int, str]]()
        shadowing = self.language.shadowing
        decorator = decorator_end = -1
        covered = covered_hint = -1  # names inside an annotation, a base or a plain decorator are not mentions of their own
        for (start, end, role, text), owner in zip(marks, self._owners([m[0] for m in marks]), strict=True):
            if start < covered and role in (F.MENTION, F.ACCESS, F.HINT):
                if role != F.HINT or end <= covered_hint:
                    continue
            named = self.order[owner] if role == F.MENTION and owner != F.FILE else None
            if named and "::" in named.name and start < named.name_start + len(named.name):
                continue  # `Cart::` in the name of a definition written outside Cart
            if role == F.HINT:
                covered = covered_hint = end
            elif role == F.BASE or (role == F.DECORATE and "(" not in text):
                covered, covered_hint = end, -1
            if role == F.DECORATE:
                decorator, decorator_end = start, end
            elif start == decorator and role in (F.MENTION, F.ACCESS):
                continue  # the decorator's own receiver
            if role == F.NEW and owner != F.FILE and (self.order[owner].hoisted or self._before_anonymous(owner, start)):
                owner = self.order[owner].parent  # `this.x = new X()`, `new X() {…}`: the function says it
            source = self._symbol_at(owner, start, role in _OF_THE_DEFINITION or start < decorator_end)
            line = self.line(start)
            if role == F.MENTION and (bound := self.bound.get((source, text))) is not None and (bound < line or not shadowing):
                continue  # a local names no item
            if role in _REPEATABLE and last(text) not in LITERAL_NAMES and text.partition(".")[0].rstrip("()[]{}") not in locals_:
                if (role, source, text) in seen:
                    continue  # said before, and no local is involved: nothing new
                seen.add((role, source, text))
            literal = handler = ""
            if role in _WITH_LITERALS and last(text) in LITERAL_NAMES:
                literal, handler = self._literal(end if not text.endswith(")") else start + self.source[start:end].find(b"("))
            count = self.arguments.get((start, end), -1)
            generics = _type_argument_count(self.source, start, end) if role in (F.CALL, F.NEW) else 0
            out.append(F.Reference(role, source, line, text, literal, handler, count, generics))
            if role == F.HINT and owner != F.FILE and self.order[owner].hoisted:
                self._hint_parameter(out, owner, start)
        for number, definition in enumerate(self.order):
            if definition.kind == "scope" and definition.trait:
                at = self._real(self._enclosing(number, _CLASS_LIKE | _FUNCTION_LIKE))
                source = self.order[at].index if at != F.FILE else F.FILE
                for trait in definition.trait.split("\n"):
                    text = chain(trait) or _type_name(trait)
                    out.append(F.Reference(F.IMPLEMENTS, source, self.line(definition.start), text, definition.name))
        return out

    def _before_anonymous(self, owner: int, offset: int) -> bool:
        """Whether something stands in the head of a definition without a name."""
        return not self.order[owner].name and offset < self.order[owner].name_start

    def _hint_parameter(self, out: list[F.Reference], owner: int, start: int) -> None:
        """A parameter that is also a field: its type is a hint of the constructor, too."""
        above = self.order[self.order[owner].parent]
        if self.order[owner].parent != F.FILE and above.index != F.FILE and start < above.body:
            row = out[-1]
            out.append(F.Reference(row.role, above.index, row.line, row.chain))

    def _defining(self, start: int, end: int) -> bool:
        """A name in an export list, or in the dotted name of a definition (`app.use = function`)."""
        return start in self.listed or end <= self.dotted.get(start, 0)

    def _literal(self, end: int) -> tuple[str, str]:
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

    def _imports(self) -> list[F.Import]:
        rows = sorted(self.imports)
        owners = self._owners([row[0] for row in rows])
        return [
            F.Import(self.line(start), module, name, alias, export, self._symbol_at(owner, start, False))
            for (start, module, name, alias, export), owner in zip(rows, owners, strict=True)
        ]

    def _bindings(self, symbols: list[F.SymbolFact]) -> list[F.Binding]:
        globals_ = {
            (self._symbol_at(owner, at, True), name)
            for (at, name), owner in zip(self.globals, self._owners([g[0] for g in self.globals]), strict=True)
        }
        rows = sorted(self.bindings)
        out = []
        for (start, name, type_text, value), owner in zip(rows, self._owners([r[0] for r in rows]), strict=True):
            if owner != F.FILE and self.order[owner].hoisted:
                owner = self.order[owner].parent
            source = self._symbol_at(owner, start, True)
            if name.startswith("<") and owner != F.FILE and self.order[owner].kind == "scope":
                out += [F.Binding(d.index, self.line(start), name, type_text) for d in self.order if d.parent == owner and d.index != F.FILE]
                continue  # a type parameter of an impl block is one of every member
            inside = self._lambda_around(start)
            until = self._until(owner, inside)
            if start in self.parameters and source != F.FILE and not until:
                symbols[source].arity = max(symbols[source].arity, 0) + 1
                symbols[source].optional += start in self.optional
                symbols[source].variadic = symbols[source].variadic or start in self.variadic
            kept = name.startswith("<") or start in self.parameters or not self.language.closures or until
            if source != F.FILE and symbols[source].kind in _CLASS_LIKE and not kept:
                continue  # comprehension variables in a class body
            if (source, name) not in globals_:
                out.append(F.Binding(source, self.later.get(start) or self.line(start), name, type_text, value, until))
        return out

    def _until(self, owner: int, inside: int) -> int:
        """The last line of the anonymous function that starts at `inside`, if that is not a definition's own body."""
        if inside < 0:
            return 0
        real = self._real(owner)
        definition = self.order[real] if real != F.FILE else None
        if definition and inside < (definition.body or definition.name_start):
            return 0
        return self.line(self.lambdas[bisect_right(self.lambda_starts, inside) - 1][1])

    def _attach_values(self, symbols: list[F.SymbolFact]) -> None:
        """What a function returns stands in for a missing result type."""
        rows = sorted(self.returns)
        for (start, value), owner in zip(rows, self._owners([r[0] for r in rows]), strict=True):
            source = self._symbol_at(owner, start, True)
            if self._until(owner, self._lambda_around(start)):
                continue  # returned by an anonymous function
            if source != F.FILE and len(symbols[source].values) < MAX_VALUES and value not in symbols[source].values:
                symbols[source].values.append(value)

    # -- texts ---------------------------------------------------------------------------------------------------

    def _texts(self, symbols: list[F.SymbolFact]) -> list[F.TextFact]:
        """The words of every symbol, and last those of the file itself."""
        docs = dict.fromkeys(range(len(symbols)), "")
        rows = sorted(self.docs)
        file_doc = ""
        for (start, text), owner in zip(rows, self._owners([r[0] for r in rows]), strict=True):
            source = self._symbol_at(owner, start, True)
            if source == F.FILE:
                file_doc = file_doc or text[:MAX_DOC]
            elif not docs[source]:
                docs[source] = text[:MAX_DOC]
        made = [d for d in self.order if d.index != F.FILE]
        made.sort(key=lambda d: d.index)
        roots: list[tuple[int, int]] = []
        for definition in made:
            at = self._real(definition.parent)
            (self.order[at].children if at != F.FILE else roots).append((definition.start, definition.end))
        out = []
        for definition in made:
            identifiers, literals = self._words(max(definition.body, definition.name_start), definition.end, definition.children)
            doc = docs[definition.index] or self._leading_comment(definition.start)
            out.append(F.TextFact(self._signature(definition), doc, identifiers, literals))
        identifiers, literals = self._words(0, len(self.source), roots)
        out.append(F.TextFact("", file_doc or self._opening_comment(), identifiers, literals))
        return out

    def _words(self, start: int, end: int, holes: list[tuple[int, int]]) -> tuple[str, str]:
        identifiers, literals, size, room = list[bytes](), list[bytes](), 0, MAX_WORDS
        for hole_start, hole_end in [*sorted(holes), (end, end)]:
            if hole_start > start and size < MAX_WORDS and room > 0:
                for double, single, back, word in _WORDS.findall(self.source, start, min(hole_start, start + 4 * MAX_WORDS)):
                    if word:
                        identifiers.append(word)
                        size += len(word) + 1
                    elif double or single or back:
                        literals.append((double or single or back)[:200])
                        room -= len(literals[-1]) + 1
            start = max(start, hole_end)
        return _join(identifiers), _join(literals)

    def _signature(self, definition: _Definition) -> str:
        start = self.line_starts[self.line(definition.name_start) - 1]
        end = definition.body or definition.end
        if end <= start or not definition.body:
            newline = self.source.find(b"\n", definition.name_start)
            end = min(definition.end, newline) if newline > 0 else definition.end
        text = self.source[max(start, definition.start) : min(end, start + 2000)].decode("utf-8", "replace")
        return _SPACE.sub(" ", text).strip().rstrip("{:").strip()[:MAX_SIGNATURE]

    def _leading_comment(self, start: int) -> str:
        """The comment that ends on the line above, without its marks."""
        at = self.line(start) - 2
        lines: list[str] = []
        while at >= 0 and len(lines) < 60:
            raw = self.source[self.line_starts[at] : self.line_starts[at + 1]].decode("utf-8", "replace")
            text = raw.strip()
            if not (text.startswith(self.language.comments) or (text.endswith("*/") and "/*" in self.language.comments)):
                break
            lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
            at -= 1
        return "\n".join(reversed(lines)).strip()[:MAX_DOC]

    def _opening_comment(self) -> str:
        lines: list[str] = []
        for raw in self.source[:MAX_DOC].decode("utf-8", "replace").splitlines()[:40]:
            text = raw.strip()
            if not text.startswith(self.language.comments):
                break
            lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
        return "\n".join(lines).strip()


def _uniform_chain(text: str) -> str:
    return chain(text, True)


def _role_of(captures: dict[str, list[Any]]) -> tuple[str, str]:
    for capture in captures:
        if capture.startswith("def."):
            return "def", capture
    for capture in captures:
        if capture in _OTHER_ROLES and capture != "test":
            return capture, capture
    for capture in captures:
        if capture in _ROLES or capture == "test":
            return capture, capture
    return "", ""


def _place_in(node: Node, pattern: Node, value: Node) -> str:
    """`.1` for the second of several names that take a tuple apart; the tuple's type may stand before them."""
    names = [name for name in pattern.named_children if name.start_byte != value.start_byte]
    if len(names) == 1 and len(pattern.named_children) == 1:
        return ""
    return next((f".{place}" for place, name in enumerate(names) if name.start_byte <= node.start_byte < name.end_byte), "")


def _import_tree(text: str, prefix: str = "") -> list[tuple[str, str, str]]:
    """`a::{self, b as c, d::*}` → module, name and alias of everything it brings."""
    head, brace, rest = text.partition("{")
    if brace:
        out, depth, start = list[tuple[str, str, str]](), 0, 0
        inner = rest.rstrip().removesuffix("}") + ","
        for at, letter in enumerate(inner):
            depth += (letter == "{") - (letter == "}")
            if letter == "," and not depth:
                out += _import_tree(inner[start:at], prefix + head.strip())
                start = at + 1
        return out
    path, _, alias = (prefix + text.strip()).partition(" as ")
    module, _, name = path.strip().removeprefix("::").rpartition("::")
    if name == "self":
        return [(module, "", alias.strip() or module.rpartition("::")[2])]
    return [(module, name, alias.strip())] if module else [(name, "", alias.strip())] if name else []


def _type_argument_count(source: bytes, start: int, end: int) -> int:
    """How many type arguments `List<A, B<C, D>>` ends with."""
    if source[end - 1 : end] != b">":
        return 0
    count, depth = 1, 0
    for letter in reversed(source[start:end]):
        depth += (letter in b">)]") - (letter in b"<([")
        if depth == 0:
            return count
        count += letter == 44 and depth == 1  # a comma
    return 0


def _join(words: list[bytes]) -> str:
    return b" ".join(words)[:MAX_WORDS].decode("utf-8", "replace")


def _strip_quotes(text: str) -> str:
    text = re.sub(r"^[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')", "", text.strip())
    text = re.sub(r"(\"\"\"|'''|\"|')$", "", text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _type_name(text: str) -> str:
    """`*Router[T]` → Router, `a::Searcher<'s, M>` → Searcher: the bare name of a type expression."""
    text = re.sub(r"<.*>|\[.*\]", "", text, flags=re.S).strip("()&* \t\n")
    words = re.split(r"::|\.|\s+", text)
    return words[-1].strip("*&()") if words else ""
