"""Calls as the tables of frameworks see them: a name, a receiver, arguments and literals, in every language.

Grammars name the same things differently; the tables here are all that is known of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tree_sitter import Node, Tree

from assay.index.chains import chain
from assay.index.extract.collect import Captures

UNKNOWN = "{}"  # computed text in a literal
MAX_LITERAL = 500  # bytes of a path, url or flag; longer ones are data
MAX_DEPTH = 8  # assignments, concatenations and receivers followed
MAX_CHAIN_LENGTH = 60  # calls followed in `a().b().c()`
MAX_ASSIGNMENTS = 200  # of one name that are looked at
MAX_CLIMB = 200  # syntax levels around a call that are searched for prefixes

_STRINGS = frozenset({
    "string", "string_literal", "interpreted_string_literal", "raw_string_literal", "template_string",
    "interpolated_string_expression", "verbatim_string_literal", "line_string_literal", "simple_symbol", "regex",
    "hash_key_symbol",
})  # fmt: skip
_INTERPOLATIONS = frozenset({"interpolation", "template_substitution", "interpolated_expression"})
_CONCATENATIONS = frozenset({"binary_expression", "binary_operator", "binary", "additive_expression"})
_NAMES = frozenset({
    "identifier", "attribute", "member_expression", "selector_expression", "field_expression", "field_access", "constant",
    "scoped_identifier", "scope_resolution", "member_access_expression", "navigation_expression", "instance_variable",
    "simple_identifier", "property_identifier",
})  # fmt: skip
_WRAPPERS = frozenset({
    "parenthesized_expression", "reference_expression", "argument", "await_expression", "await", "value_argument",
    "attribute_argument", "try_expression", "non_null_expression", "as_expression", "satisfies_expression", "expression_list",
    "literal_element", "unary_expression",
})  # fmt: skip
CALLS = frozenset({
    "call", "call_expression", "method_invocation", "invocation_expression", "new_expression", "object_creation_expression",
    "macro_invocation", "annotation", "attribute_item", "constructor_invocation", "decorator",
})  # fmt: skip
_DECORATORS = frozenset({"annotation", "marker_annotation", "attribute", "attribute_item", "decorator"})
_ARGUMENTS = ("arguments", "argument_list", "attribute_argument_list", "value_arguments", "token_tree", "call_suffix")
_KEYWORDS = {"keyword_argument": ("name", "value"), "element_value_pair": ("key", "value"), "pair": ("key", "value")}
_OBJECTS = frozenset({"object", "hash", "dictionary"})
_LISTS = frozenset({
    "array", "list", "tuple", "set", "element_value_array_initializer", "array_initializer", "initializer_expression",
    "collection_expression", "array_creation_expression",
})  # fmt: skip
FUNCTIONS = frozenset({
    "arrow_function", "function_expression", "function", "func_literal", "lambda", "closure_expression", "lambda_expression",
    "anonymous_method_expression", "lambda_literal", "anonymous_function", "do_block", "block", "generator_function",
})  # fmt: skip
# calls whose text is their first argument: `fmt.Sprintf`, `format!`, `new URL`, `URI.create`
_FORMATS = frozenset({
    "Sprintf", "format", "Format", "URL", "Uri", "URI", "create", "String", "from", "to_string", "to_owned", "into", "parse",
    "URI.parse", "str", "encodeURI", "concat", "as_str", "toString", "unwrap", "clone", "raw", "strip_heredoc", "freeze",
})  # fmt: skip
_JOINS = frozenset({"urljoin", "urlJoin", "joinURL", "JoinPath", "urlcat"})
_ASSIGNMENT = re.compile(
    rb"^[ \t]*(?:(?:[\w<>\[\]?&']+[ \t]+){0,5})(?:self\.|this\.|@)?([A-Za-z_$]\w{0,80})"
    rb"(?:[ \t]*:[ \t]*[^=\n;(){}]{1,60})?[ \t]*:?=(?![=>~])[ \t]*(?:\n[ \t]*)?",
    re.M,
)
_OPENING = re.compile(r"[A-Za-z@$]{0,3}#*(?:\"\"\"|'''|\"|'|`|:|%[qQ]?[(\[{])|/")
_CLOSING = re.compile(r"(?:\"\"\"|'''|\"|'|`)#*$")
_PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[sdvqi]")
_FUNCTION_NODE = re.compile(r"function|method|lambda|closure|func_literal|constructor_declaration")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Source:
    """The syntax tree of a file with the positions of its assignments."""

    def __init__(self, captures: Captures, tree: Tree) -> None:
        self.captures, self.root, self.bytes = captures, tree.root_node, captures.source

    def text(self, node: Node) -> str:
        """Return a node's text, without its rest if it is long."""
        return self.bytes[node.start_byte : min(node.end_byte, node.start_byte + 2000)].decode("utf-8", "replace")

    def name(self, node: Node) -> str:
        """Return the last name of an expression: `listUsers` of `controllers.users.listUsers`."""
        return re.split(r"\W+", self.text(node).rstrip(")]}( "))[-1] if node.type in _NAMES else ""

    def call_at(self, start: int, end: int, is_decorator: bool) -> Node | None:
        """Return the call, or the decorator, whose name is at a span."""
        node = self.root.descendant_for_byte_range(start, max(end - 1, start))
        for _ in range(MAX_DEPTH):
            if node is None or (node.type in CALLS and arguments_of(node) is not None):
                return node
            if is_decorator and node.type in _DECORATORS and self.captures.language.name != "python":
                return node  # without arguments
            node = node.parent
        return None

    # Assignments

    @cached_property
    def _assignments(self) -> dict[str, list[int]]:
        """Offsets of the assigned values, by name."""
        out: dict[str, list[int]] = {}
        for match in _ASSIGNMENT.finditer(self.bytes):
            out.setdefault(match.group(1).decode(), []).append(match.end())
        return out

    def assigned(self, name: str, before: int) -> Node | None:
        """Return the value of the nearest assignment above an offset that is visible there, else of a later one."""
        offsets = self._assignments.get(name, ())
        above = [at for at in offsets[:MAX_ASSIGNMENTS] if at < before]
        for offset in (*reversed(above), *offsets[len(above) : MAX_ASSIGNMENTS]):
            node = self.root.descendant_for_byte_range(offset, offset)
            if node is None or not self._is_visible(node, offset, before):
                continue
            while node.parent is not None and node.parent.start_byte == offset and node.parent != self.root:
                if node.parent.type.endswith(("statement", "declaration", "block")):
                    break
                node = node.parent
            return node if not node.start_byte <= before < node.end_byte else None
        return None

    def _is_visible(self, node: Node, offset: int, position: int) -> bool:
        """Return whether an assignment is outside functions, in a function around a position, or to a field."""
        line = self.bytes[self.bytes.rfind(b"\n", 0, offset) + 1 : offset]
        if line.lstrip().startswith((b"self.", b"this.", b"@")):
            return True
        around: Node | None = node
        for _ in range(MAX_CLIMB):
            if around is None:
                return True
            if _FUNCTION_NODE.search(around.type) and around.type != "function":
                return around.start_byte <= position < around.end_byte
            around = around.parent
        return False

    # Literals

    def literal(self, node: Node | None, depth: int = 0) -> str:
        """Return the text of a literal or of an expression that builds one; computed parts become `{}`.

        Empty if nothing of it is literal.
        """
        text = self._template(node, depth) if node is not None else ""
        text = _PLACEHOLDER.sub(UNKNOWN, _CONTROL.sub("", text))
        return text if len(text) <= MAX_LITERAL and text.replace(UNKNOWN, "") else ""

    def plain(self, node: Node | None) -> str | None:
        """Return the text of a string literal without computed parts; None for anything else."""
        node = unwrapped(node)
        if node is None or node.type not in _STRINGS or node.end_byte - node.start_byte > MAX_LITERAL:
            return None
        text = self._string(node)
        return None if UNKNOWN in text and any(child.type in _INTERPOLATIONS for child in node.children) else text

    def _template(self, node: Node | None, depth: int) -> str:
        node = unwrapped(node)
        if node is None or depth > MAX_DEPTH or node.end_byte - node.start_byte > 4 * MAX_LITERAL:
            return UNKNOWN
        if node.type in _STRINGS:
            return self._string(node, depth)
        if node.type == "concatenated_string":
            return "".join(self._template(child, depth + 1) for child in node.named_children[:20])
        if node.type in _CONCATENATIONS and len(node.children) == 3:
            left, operator, right = node.children
            sign = self.text(operator)
            if sign == "+":
                return self._template(left, depth + 1) + self._template(right, depth + 1)
            return self._template(left, depth + 1) if sign == "%" else UNKNOWN
        if node.type in CALLS:
            return self._built(node, depth)
        if node.type in _NAMES:
            value = self.assigned(self.name(node), node.start_byte)
            return self._template(value, depth + 2) if value is not None and value != node else UNKNOWN
        return UNKNOWN

    def _built(self, node: Node, depth: int) -> str:
        """Return the text that a call builds: `fmt.Sprintf("…")`, `"…".format()`, `urljoin(base, "…")`."""
        call = Call(self, node)
        if call.name in _JOINS and len(call.arguments) > 1:
            parts = [self._template(argument, depth + 1).strip("/") for argument in call.arguments[:4]]
            return "/".join(parts)
        if call.name in _FORMATS:
            receiver = call.receiver
            inner = receiver if receiver is not None and unwrapped(receiver).type in _STRINGS else None  # type: ignore[union-attr]
            if inner is None:
                inner = next((argument for argument in call.arguments[:3] if unwrapped(argument) is not None), receiver)
            return self._template(inner, depth + 1)
        return UNKNOWN

    def _string(self, node: Node, depth: int = MAX_DEPTH) -> str:
        """Return the text between the quotes of a string, `{}` for each interpolation of something unknown."""
        start, pieces = node.start_byte, list[bytes]()
        for child in node.children[:200]:
            if child.type in _INTERPOLATIONS:
                computed = [part for part in child.named_children if not part.type.endswith("brace")]
                inner = self._template(computed[0], depth + 1) if computed else UNKNOWN
                pieces += [self.bytes[start : child.start_byte], inner.encode()]
                start = child.end_byte
        pieces.append(self.bytes[start : min(node.end_byte, start + 4 * MAX_LITERAL)])
        text = b"".join(pieces).decode("utf-8", "replace")
        opening = _OPENING.match(text)
        return _CLOSING.sub("", text[opening.end() :] if opening else text)


class Call:
    """A call, decorator or construction with its arguments."""

    def __init__(self, source: Source, node: Node) -> None:
        self.source, self.node = source, node
        self.arguments: list[Node] = []
        self.keywords: dict[str, Node] = {}
        self.blocks: list[Node] = []
        listed = arguments_of(node)
        if listed is not None:
            self._read(listed)
        block = node.child_by_field_name("block")
        if block is not None:
            self.blocks.append(block)

    def _read(self, listed: Node) -> None:
        for child in listed.named_children[:40]:
            if child.type in _KEYWORDS:
                self._add_pair(child)
                continue
            if child.type == "comment":
                continue
            name = child.child_by_field_name("name") if child.type in ("argument", "attribute_argument") else None
            if child.type == "attribute_argument" and name is None and child.named_child_count > 1:
                name = child.named_children[0]
            if name is not None:
                self.keywords[self.source.text(name).strip(" =:")] = child.named_children[-1]
                continue
            value = unwrapped(child)
            if value is not None and value.type in _OBJECTS:
                for pair in value.named_children[:40]:
                    if pair.type == "pair":
                        self._add_pair(pair)
            self.arguments.append(child)

    def _add_pair(self, pair: Node) -> None:
        key, value = (pair.child_by_field_name(field) for field in _KEYWORDS[pair.type])
        if key is not None and value is not None:
            self.keywords[self.source.text(key).strip("\"':` ")] = value
            if self.source.captures.language.name == "ruby" and key.type in _STRINGS and key.type != "hash_key_symbol":
                self.keywords.setdefault("=>", pair)

    @cached_property
    def callee(self) -> Node | None:
        """The called expression."""
        for field in ("function", "macro", "constructor", "type", "method", "name"):
            callee = self.node.child_by_field_name(field)
            if callee is not None:
                return callee
        return self.node.named_children[0] if self.node.named_children else None

    @cached_property
    def name(self) -> str:
        """The last name of the called expression."""
        callee = self.callee
        if callee is None:
            return ""
        for field in ("attribute", "property", "field", "name"):
            part = callee.child_by_field_name(field)
            if part is not None:
                return re.split(r"[<\[]", self.source.text(part))[0]
        return re.split(r"::|\.", re.split(r"[<\[(]", self.source.text(callee))[0])[-1].strip()

    @cached_property
    def receiver(self) -> Node | None:
        """The expression that the method is called on."""
        holder = self.node if self.node.type in ("method_invocation", "call") else self.callee
        if holder is None:
            return None
        for field in ("receiver", "object", "operand", "value", "expression"):
            node = holder.child_by_field_name(field)
            if node is not None:
                return node
        callee = self.callee
        if callee is not None and callee is not holder:
            return callee.child_by_field_name("object")
        return None

    @property
    def receiver_call(self) -> Call | None:
        """The call that the method is called on the result of."""
        node = unwrapped(self.receiver)
        return Call(self.source, node) if node is not None and node.type in CALLS else None

    def receiver_calls(self) -> Iterator[Call]:
        """Yield the calls that the receiver consists of, innermost last."""
        call = self.receiver_call
        for _ in range(MAX_CHAIN_LENGTH):
            if call is None:
                return
            yield call
            call = call.receiver_call

    def argument(self, position: int) -> Node | None:
        """Return a positional argument; -1 for the last."""
        return self.arguments[position] if -len(self.arguments) <= position < len(self.arguments) else None

    def keyword(self, names: tuple[str, ...] | frozenset[str]) -> Node | None:
        """Return the first keyword argument, or entry of an object argument, with one of the names."""
        return next((self.keywords[name] for name in names if name in self.keywords), None)


def arguments_of(node: Node) -> Node | None:
    """Return the list of arguments of a call."""
    listed = node.child_by_field_name("arguments")
    if listed is not None:
        return listed
    for child in node.children[:6]:
        if child.type in _ARGUMENTS:
            return child
        if child.type in ("constructor_invocation", "attribute") and node.type != "attribute":
            return arguments_of(child)
        if node.type == "decorator" and child.type == "call_expression":
            return arguments_of(child)
    return None


def unwrapped(node: Node | None) -> Node | None:
    """Return the expression inside parentheses, references, casts and argument nodes."""
    for _ in range(MAX_DEPTH):
        if node is None or node.type not in _WRAPPERS or not node.named_children:
            return node
        node = (
            node.named_children[0]
            if node.type in ("as_expression", "satisfies_expression")
            else node.named_children[-1]
        )
    return node


def elements(node: Node | None) -> list[Node]:
    """Return the elements of a list literal, or the node itself."""
    node = unwrapped(node)
    if node is None:
        return []
    if node.type in _LISTS:
        inner = node.named_children
        return [each for child in inner[:20] for each in elements(child)] if inner else []
    return [node]


def is_function(node: Node | None) -> bool:
    """Return whether an expression is an anonymous function."""
    node = unwrapped(node)
    return node is not None and node.type in FUNCTIONS


def expression_chain(source: Source, node: Node) -> str:
    """Return the chain of an expression, for the resolver."""
    return chain(source.text(node).lstrip("&")) if node.end_byte - node.start_byte <= 300 else ""
