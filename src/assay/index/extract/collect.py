"""Run the language's query over a file and collect its matches: definitions, names, bindings, imports."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from tree_sitter import Node, QueryCursor, Tree

from assay.index.chains import chain
from assay.index.extract.syntax import import_tree, parse, place_in, strip_quotes, type_name
from assay.index.facts import ACCESS, BASE, CALL, DECORATE, FILE, HINT, IMPLEMENTS, MENTION, NEW, THROW
from assay.languages import Language

MAX_CHAIN = 3000  # bytes; longer expressions are not names
MAX_PART = 2000  # bytes; longer types, values and other captures are ignored
MAX_RETURN = 400  # bytes; longer returned expressions are ignored
MAX_NESTING = 1000  # syntax levels searched: time grows with depth, and hand-written code has less than 100
MAX_EMBEDDED = 3  # nesting of macros in macro arguments
_VALUE_KINDS = frozenset({"function", "class"})
_NEWLINE = 10
SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TYPE_ARGUMENTS = re.compile(r"[<\[].*[>\]]", re.S)
# captures that determine the role of a match; every pattern has exactly one
_ROLES = {
    "call": CALL,
    "bare": CALL,
    "new": NEW,
    "mention": MENTION,
    "access": ACCESS,
    "hint": HINT,
    "throw": THROW,
    "decorator": DECORATE,
    "base": BASE,
    "implements": IMPLEMENTS,
}
# roles ignored in macro arguments: a macro may use such a definition or import in any way
_NOT_IN_TOKENS = frozenset({"def", "scope", "import"})


Mark = tuple[int, int, int, str]  # start, end, role, chain


@dataclass(slots=True)
class Definition:
    """A definition or a bare scope (an impl block) while its file is being read. Offsets are bytes."""

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
    bound: bool = False  # becomes a symbol only where a variable would
    test: bool = False
    trait: str = ""
    parent: int = FILE
    index: int = FILE  # index of its symbol; FILE for scopes and locals
    children: list[tuple[int, int]] = field(default_factory=list)


class Captures:
    """The matches of the language's query in a file, not yet nested. Positions are byte offsets."""

    def __init__(self, source: bytes, language: Language) -> None:
        self.source, self.language = source, language
        self.chain = _uniform_chain if language.uniform_access else chain
        self.line_starts = [0, *(np.flatnonzero(np.frombuffer(source, "u1") == _NEWLINE) + 1).tolist()]
        self.definitions: dict[int, Definition] = {}  # by offset of the name: the widest match wins
        self.marks: list[Mark] = []
        self.bindings: list[tuple[int, str, str, str]] = []  # start, name, type, value
        self.parameters: set[int] = set()
        self.optional: set[int] = set()  # offsets of parameters with a default
        self.variadic: set[int] = set()  # offsets of parameters that take any number of arguments
        self.arguments: dict[tuple[int, int], int] = {}  # number of arguments of the call at a span
        self.returns: list[tuple[int, str]] = []
        self.docs: list[tuple[int, str]] = []
        self.imports: list[tuple[int, str, str, str, bool]] = []
        self.globals: list[tuple[int, str]] = []
        self.parts: set[tuple[int, int]] = set()  # spans of names that are part of a longer name
        self.bare: list[Mark] = []  # calls unless they turn out to be locals
        self.lambdas: list[tuple[int, int]] = []  # spans of anonymous functions
        self.listed: set[int] = set()  # offsets of names in imports and export lists: not mentions
        self.dotted: dict[int, int] = {}  # start → end of dotted names of definitions
        self.import_bound: set[int] = set()  # offsets of names bound by imports: not variables
        self.later: dict[int, int] = {}  # locals not visible inside their own declaration → its last line
        self.import_spans: list[tuple[int, int]] = []
        self.tokens: list[tuple[int, int]] = []
        self.namespace = ""

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _visible_text(self, node: Node) -> str:
        """Return a node's text, or nothing if it is all white space: grammars take some for identifiers."""
        text = self.text(node)
        return "" if text.isspace() else text

    def line(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def read(self, tree: Tree) -> None:
        self._read_node(tree.root_node, frozenset())
        for _ in range(MAX_EMBEDDED):
            if self.tokens:
                self._read_tokens()

    def _read_node(self, root: Node, skipped_roles: frozenset[str]) -> None:
        roles = _pattern_roles(self.language)
        grouped, single = _cursors(self.language)
        for pattern, captures in grouped.matches(root):
            role = roles.get(pattern)
            if role is None:
                role = roles[pattern] = role_of(captures)
            if role[0] not in skipped_roles:
                self._collect(role[0], role[1], captures)
        for name, nodes in single.captures(root).items():
            if name == "hint":
                for node in nodes:
                    self._collect_hint(node)
            else:
                self._collect_single(name, nodes)

    def _collect_single(self, name: str, nodes: list[Node]) -> None:
        """Collect marks of single-capture patterns: the hot path, most of a file's matches."""
        source, append, role, to_chain = self.source, self.marks.append, _ROLES[name], self.chain
        ignored = self.language.self_names if name != "call" else self.language.declarations
        for node in nodes:
            start, end = node.byte_range
            if end - start <= MAX_CHAIN:
                text = to_chain(source[start:end].decode("utf-8", "replace"))
                if text and text not in ignored:
                    append((start, end, role, text))

    def _collect_hint(self, node: Node) -> None:
        start = node.start_byte
        text = self.source[start : min(node.end_byte, start + 2000)].decode("utf-8", "replace")
        self.marks.append((start, node.end_byte, HINT, text))

    def _read_tokens(self) -> None:
        """Parse macro arguments, which the grammar leaves as tokens, as expressions: a tuple, an array or a block.

        Everything else is blanked, so that offsets are preserved.
        """
        pieces, self.tokens = sorted(self.tokens), []
        text = bytearray(b" ") * (pieces[-1][1] + 1)
        for start, end in pieces:
            text[start : end + 1] = self.source[start:end] + b";"
        self._read_node(parse(bytes(text), self.language).root_node, _NOT_IN_TOKENS)

    def _collect(self, role: str, capture: str, captures: dict[str, list[Node]]) -> None:
        """Dispatch a match by its role."""
        if role == "def":
            self._collect_definition(capture, captures)
        elif role in _ROLES:
            self._collect_mark(role, captures)
        else:
            _COLLECTORS[role](self, captures)

    def _collect_local(self, role: str, captures: dict[str, list[Node]]) -> None:
        """Collect a parameter, local or loop variable with its type and value."""
        type_text = self._capture_text(captures, "type")
        value = self.chain(self._capture_text(captures, "value"))
        if type_text in self.language.inferred:
            type_text = ""
        if "member" in captures:
            type_text, value = "", self._member_value(captures, type_text, value)
        if role == "loop" and value:
            value += "[]"
        if "variadic" in captures and not type_text.endswith("[]"):
            type_text += "[]"
        scope_start = captures["at"][0].start_byte if "at" in captures else -1
        later = self.line(captures["after"][0].end_byte) if "after" in captures else 0
        destructures = value and "pattern" in captures
        for node in captures[role]:
            if role == "param":
                self._note_parameter(node, captures)
            if later:
                self.later[node.start_byte] = later
            position = place_in(node, captures["pattern"][0], captures["value"][0]) if destructures else ""
            at = node.start_byte if scope_start < 0 else scope_start
            self.bindings.append((at, self.text(node), type_text, value + position))

    def _note_parameter(self, node: Node, captures: dict[str, list[Node]]) -> None:
        self.parameters.add(node.start_byte)
        if "optional" in captures:
            self.optional.add(node.start_byte)
        if "variadic" in captures:
            self.variadic.add(node.start_byte)

    def _collect_extension(self, captures: dict[str, list[Node]]) -> None:
        type_text = self._capture_text(captures, "type")
        self.bindings.append((captures["extension"][0].start_byte, "<this>", type_text, ""))

    def _collect_type_parameters(self, captures: dict[str, list[Node]]) -> None:
        bound = self._capture_text(captures, "type")
        self.bindings += [(node.start_byte, f"<{self.text(node)}>", bound, "") for node in captures["typeparam"]]

    def _collect_return(self, captures: dict[str, list[Node]]) -> None:
        node = captures["return"][0]
        value = self.chain(self.text(node)) if node.end_byte - node.start_byte < MAX_RETURN else ""
        if value:
            self.returns.append((node.start_byte, value))

    def _collect_doc(self, captures: dict[str, list[Node]]) -> None:
        node = captures["doc"][0]
        self.docs.append((node.start_byte, strip_quotes(self.text(node))))

    def _collect_scope(self, captures: dict[str, list[Node]]) -> None:
        node, name = captures["scope"][0], captures["name"][0]
        start, end = node.byte_range
        scope = Definition(start, end, "scope", type_name(self.text(name)), start, start)
        definition = self.definitions.setdefault(name.start_byte, scope)
        definition.trait = "\n".join(filter(None, (definition.trait, self._capture_text(captures, "trait"))))

    def _collect_namespace(self, captures: dict[str, list[Node]]) -> None:
        self.namespace = SPACE.sub("", self.text(captures["namespace"][0]))

    def _collect_globals(self, captures: dict[str, list[Node]]) -> None:
        self.globals += [(node.start_byte, self.text(node)) for node in captures["global"]]

    def _collect_tokens(self, captures: dict[str, list[Node]]) -> None:
        self.tokens += [node.byte_range for node in captures["tokens"]]

    def _collect_lambda(self, captures: dict[str, list[Node]]) -> None:
        self.lambdas.append(captures["lambda"][0].byte_range)

    def _collect_parts(self, captures: dict[str, list[Node]]) -> None:
        self.parts.update(node.byte_range for node in captures["part"])

    def _capture_text(self, captures: dict[str, list[Node]], name: str) -> str:
        nodes = captures.get(name)
        if not nodes:
            return ""
        node = nodes[0]
        start, end = node.byte_range
        if end - start > MAX_PART:
            return ""
        return self.source[start:end].decode("utf-8", "replace").strip()

    def _member_value(self, captures: dict[str, list[Node]], type_text: str, value: str) -> str:
        """Return the chain of a destructured name: `{ x } = shop` → shop.x; `{ x }: Shop` → Shop{}.x."""
        name = re.match(r"[:\s]*([\w$.]+)$", type_text)
        value = f"{name.group(1)}{{}}" if name else value
        return f"{value}.{self.text(captures['member'][0])}" if value else ""

    def _collect_definition(self, capture: str, captures: dict[str, list[Node]]) -> None:
        node, body = captures[capture][0], captures.get("body")
        if "name" not in captures:
            self._collect_anonymous(node, body, capture[4:])
            return
        name, kind = captures["name"][0], capture[4:]
        existing = self.definitions.get(name.start_byte)
        if existing:  # a second pattern for the same name: the wider span (decorators) and the more specific kind win
            if existing.kind in _VALUE_KINDS and kind == "variable":
                return  # a variable that holds a function or class is that function or class
            if existing.kind == "variable" and kind in _VALUE_KINDS:
                existing = None
            else:
                kind = _more_specific(existing.kind, kind)
                if node.start_byte > existing.start or node.end_byte < existing.end:
                    existing.kind = kind
                    existing.type = existing.type or self._capture_text(captures, "type")
                    existing.value = existing.value or self.chain(self._capture_text(captures, "value"))
                    return
        if name.child_count:
            self.dotted[name.start_byte] = name.end_byte
        definition = self.definitions[name.start_byte] = Definition(
            node.start_byte,
            node.end_byte if "open" not in captures else len(self.source),
            kind,
            self._visible_text(name) + ("[]" if "element" in captures else ""),
            name.start_byte,
            body[0].start_byte if body else 0,
            type=self._capture_text(captures, "type"),
            value=self._definition_value(captures) if "value" in captures else "",
            receiver=type_name(self._capture_text(captures, "receiver")),
            hoisted="self" in captures,
            bound="bound" in captures,
            test="test" in captures,
        )
        if existing:
            definition.type = definition.type or existing.type
            definition.receiver = definition.receiver or existing.receiver
            if "value" not in captures:
                definition.value = existing.value

    def _definition_value(self, captures: dict[str, list[Node]]) -> str:
        value = self.chain(self._capture_text(captures, "value"))
        return self._member_value(captures, "", value) if "member" in captures else value

    def _collect_anonymous(self, node: Node, body: list[Node] | None, kind: str) -> None:
        """Collect a definition without a name. Code before its body belongs to its container."""
        start = body[0].start_byte if body else node.start_byte
        self.definitions[start] = Definition(node.start_byte, node.end_byte, kind, "", start, start)

    def _collect_mark(self, role: str, captures: dict[str, list[Node]]) -> None:
        node = captures[role][0]
        start = node.start_byte
        if role == "hint":
            self._collect_hint(node)
            return
        if role == "bare":
            self.bare.append((start, node.end_byte, CALL, self.text(node)))
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
        if "type" in captures:  # `new(…)` and members in an initialiser: the type is captured separately
            raw = self._capture_text(captures, "type") + (f"{{}}.{raw}" if role == "access" else "")
        text = self.chain(raw)
        if not text or (text in self.language.self_names and role in ("mention", "access")):
            return
        if text in self.language.declarations and role == "call":
            return
        if role in ("base", "implements") and (inside := _TYPE_ARGUMENTS.search(raw)):
            self.marks.append((start + len(raw[: inside.start()].encode()), node.end_byte, HINT, inside.group()))
        self.marks.append((start, end, _ROLES[role], text))

    def _collect_import(self, captures: dict[str, list[Node]]) -> None:
        node = captures["import"][0]
        module = self._capture_text(captures, "module").strip("\"'`<>")
        if node in captures.get("module", ()):  # the capture is the whole import: drop the keyword and the selectors
            module = re.split(r"\s*\.\s*(?:\{|_$|\*$|given$)", module.partition(" ")[2].strip())[0]
        if node.type == "future_import_statement":
            module = "__future__"
        alias = self._capture_text(captures, "alias")
        export = "export" in captures
        if "tree" in captures:
            self.import_spans.append((node.start_byte, node.end_byte))
            text = _COMMENT.sub("", self.text(captures["tree"][0]))
            self.imports += [(node.start_byte, *row, export) for row in import_tree(SPACE.sub(" ", text))]
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


def _more_specific(first: str, second: str) -> str:
    """Return the kind of a definition that two patterns match."""
    return first if second in ("function", "variable") or first in ("property", "constant") else second


@cache
def _cursors(language: Language) -> tuple[QueryCursor, QueryCursor]:
    grouped, single = map(QueryCursor, language.query_objects)
    grouped.set_max_start_depth(MAX_NESTING)
    single.set_max_start_depth(MAX_NESTING)
    return grouped, single


@cache
def _pattern_roles(language: Language) -> dict[int, tuple[str, str]]:
    """Role and deciding capture per pattern number; filled as patterns first match."""
    return {}


def _uniform_chain(text: str) -> str:
    return chain(text, True)


def role_of(captures: Iterable[str]) -> tuple[str, str]:
    """Return the role of a match and the capture that determines it: a definition, else a collector's, else a mark."""
    for roles in (_COLLECTORS, _ROLES):
        for capture in captures:
            if capture.startswith("def."):
                return "def", capture
        for capture in captures:
            if capture in roles:
                return capture, capture
    raise ValueError(f"a pattern without a role: {', '.join(captures)}")


# collectors by role, except definitions and marks
_COLLECTORS: dict[str, Callable[[Captures, dict[str, list[Node]]], None]] = {
    "import": Captures._collect_import,
    "local": lambda self, captures: self._collect_local("local", captures),
    "param": lambda self, captures: self._collect_local("param", captures),
    "loop": lambda self, captures: self._collect_local("loop", captures),
    "extension": Captures._collect_extension,
    "typeparam": Captures._collect_type_parameters,
    "return": Captures._collect_return,
    "doc": Captures._collect_doc,
    "scope": Captures._collect_scope,
    "namespace": Captures._collect_namespace,
    "global": Captures._collect_globals,
    "tokens": Captures._collect_tokens,
    "lambda": Captures._collect_lambda,
    "part": Captures._collect_parts,
}
