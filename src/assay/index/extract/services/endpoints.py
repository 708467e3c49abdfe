"""Endpoints that a file calls through HTTP clients."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from tree_sitter import Node

from assay.index.extract.collect import Captures
from assay.index.extract.services.calls import CALLS, UNKNOWN, Call, Source, is_function, unwrapped
from assay.languages.conventions import ends_like
from assay.languages.frameworks import VERBS, Client, Request

_VERBS = frozenset(verb.upper() for verb in VERBS)
_URL = re.compile(r"(?:https?|wss?)://|/|\{\}")  # the beginning of an address
_PATH = re.compile(r"/[^/\s{}]|\w/")  # at least one literal segment
_NOT_A_PATH = re.compile(r"[\s<>|\\^`]|^//[^/]*$")
_LAST = re.compile(r"[\w$]+(?:\(\))?(?=\W*$)")


class Endpoints:
    """Reads the client calls of a file."""

    def __init__(self, source: Source, clients: Iterable[Client]) -> None:
        self.source = source
        self.clients = [row for row in clients if not row.markers or any(mark in source.bytes for mark in row.markers)]

    def called(self, call: Call, chain: str) -> Iterator[str]:
        """Yield the endpoint that a call reaches, as `GET /users/{}`."""
        for client in self.clients:
            endpoint = self._called(call, chain, client)
            if endpoint:
                yield endpoint
                return

    def _called(self, call: Call, chain: str, client: Client) -> str:
        row, base = self._function(chain, client), ""
        if row is None:
            row = self._method(call, client)
            base = self._base(call, client) if row is not None else ""
        if row is None:
            if call.name not in client.verb_after:
                return ""
            verb = next((inner.name.upper() for inner in call.receiver_calls() if inner.name.upper() in _VERBS), "")
            if not verb and not call.receiver_call:
                return ""
            row = Request(verb or self._verb_after(call), url=client.verb_after[call.name])
        node = call.keyword(client.url_keywords)
        node = node if node is not None else call.argument(row.url)
        if node is None or (row.path_only and any(is_function(argument) for argument in call.arguments)):
            return ""
        url = self.source.literal(node)
        if not url or _NOT_A_PATH.search(url) or (row.path_only and not re.match(r"/\w|https?://|\{\}/", url)):
            return ""
        if base and not re.match(r"https?:|\{\}", url):
            url = f"{base.rstrip('/')}/{url.lstrip('/')}"
        elif not _URL.match(url):
            url = "/" + url if call.name in client.methods or not url[:1].isalnum() else ""
        if not _PATH.search(re.sub(r"^(?:\w+:)?//[^/]*|[?#].*", "", url)):
            return ""
        return f"{self._verb(call, row, client)} {url}".strip()

    def _function(self, chain: str, client: Client) -> Request | None:
        """Return the row of a call of a client's function."""
        name = chain.removesuffix("()")
        for pattern, row in _functions(client).get(name.rpartition(".")[2], ()):
            is_global = "." in pattern or name == pattern or name.startswith(("window.", "globalThis."))
            if is_global and ends_like(name, (pattern,)):
                return row
        return None

    def _method(self, call: Call, client: Client) -> Request | None:
        """Return the row of a call of a method of a client object."""
        row = client.methods.get(call.name)
        if row is None:
            return None
        receiver = self._receiver(call)
        if not receiver:
            return None
        if receiver.lower() in client.receivers:
            return row
        if not client.types:
            return None
        texts = self._texts[receiver.removesuffix("()")]
        texts = [*texts, *(text for name in texts if name.isidentifier() for text in self._texts.get(name, ()))]
        return row if any(_is_type(text, client.types) for text in texts) else None

    def _receiver(self, call: Call) -> str:
        node = unwrapped(call.receiver)
        if node is None:
            return ""
        if node.type in CALLS:
            return Call(self.source, node).name + "()"
        match = _LAST.search(self.source.text(node)[-100:])
        return match.group() if match else ""

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """Types and values of variables, parameters and fields, by name."""
        out: dict[str, list[str]] = defaultdict(list)
        captures: Captures = self.source.captures
        for _, name, type_text, value in captures.bindings:
            out[name] += [text for text in (type_text, value) if text]
        for definition in captures.definitions.values():
            name = definition.name.rpartition(".")[2].lstrip("@")
            out[name] += [text for text in (definition.type, definition.value) if text]
        return out

    def _base(self, call: Call, client: Client) -> str:
        """Return the base address that the client object was made with, `{}` if it is not known here."""
        unknown = UNKNOWN if client.relative else ""
        value = unwrapped(self.source.assigned(self._receiver(call), call.node.start_byte))
        if value is None or value.type not in CALLS or not client.bases:
            return unknown
        node = Call(self.source, value).keyword(client.bases)
        return unknown if node is None else self.source.literal(node) or UNKNOWN

    def _verb(self, call: Call, row: Request, client: Client) -> str:
        node = call.keyword(client.method_keywords)
        if node is None and row.method is not None:
            node = call.argument(row.method)
        if node is None:
            return row.verb
        verb = _verb_of(self.source, node)
        return verb if verb in _VERBS else "" if row.method is None or verb else row.verb

    def _verb_after(self, call: Call) -> str:
        """Return the verb of a builder that says it after the url: `.uri(…).GET()`."""
        node = call.node.parent
        for _ in range(12):
            if node is None or node.type.endswith("statement"):
                return ""
            if node.type in CALLS:
                name = Call(self.source, node).name.upper()
                if name in _VERBS:
                    return name
            node = node.parent
        return ""


@lru_cache(maxsize=64)
def _functions(client: Client) -> dict[str, list[tuple[str, Request]]]:
    """Return the functions of a client by their last name."""
    out: dict[str, list[tuple[str, Request]]] = {}
    for pattern, row in client.functions.items():
        out.setdefault(pattern.rpartition(".")[2], []).append((pattern, row))
    return out


def _verb_of(source: Source, node: Node) -> str:
    return re.split(r"\W+|Method", source.plain(node) or source.text(node).rstrip(")( "))[-1].upper()


def _is_type(text: str, types: frozenset[str]) -> bool:
    """Return whether a type or value is one of a client's, such as `httpx.Client()` or `HttpClient?`."""
    plain = re.split(r"[<\[({]", text.strip())[0].strip(":?&* ").replace("::", ".")
    if plain in types:
        return True
    last = re.split(r"[<\[{]", text.strip())[0].replace("()", "").strip(":?&* ").replace("::", ".")
    return any(last == name or last.endswith("." + name) for name in types)
