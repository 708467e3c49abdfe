"""Ingest traces: map spans to the symbols of an index, and count who called whom.

A span names code by `code.*` attributes, a route by `http.route`, a method by `rpc.*`, a topic by its messaging
destination. What it names is looked up once per distinct combination. A span that names nothing of the repository still
counts as a step between those that do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.core.endpoints import Routes, parse_endpoint
from assay.core.items import CALLABLE_KINDS, Item, Outline
from assay.index.enrich.otlp import CONSUMER, PRODUCER, SERVER, Batch, Span
from assay.index.scan import is_vendored
from assay.store.index import Index
from assay.store.links.services import Use, uses
from assay.store.traces.calls import TYPES, End
from assay.store.traces.counting import Observed
from assay.store.traces.versions import Versions

_MOST_LOOKUPS = 200_000  # distinct combinations of attributes that are remembered: some 100 MB at worst
_MOST_NAMES = 2_000  # topics and services
_SHORTEST = 3  # characters of a function's name that is looked up without file and namespace
_SEPARATORS = re.compile(r"::|[./#$\\:]|->")
_RECEIVER = re.compile(r"[()*]|\[[^\]]{0,250}\]|<[^<>]*>")  # of Go methods and generic types: `main.(*Server).Serve`
_NO_NAMESPACE = frozenset({"__main__", "main", "global", "<anonymous>", ""})
_FRAMES = frozenset({"<locals>", "<anonymous>", "anonymous", "lambda", "__init__", "index", "mod", "lib"})
_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python", "/pkg/mod/", "/.cargo/registry/", "/usr/lib/")
_SUFFIXES = ("", "servicer", "service", "serviceimpl", "impl", "serviceservicer", "servicebase", "grpcservice")


class _Meaning(NamedTuple):
    """Meaning of the attributes of a span: positions of ends, as in `Observed`."""

    target: int
    caller: int
    remote: int
    source: int
    service: int


class Resolver:
    """Maps spans to the ends of calls. `ends` are all that were met; 0 stands for none."""

    def __init__(self, index: Index) -> None:
        self.ends: list[End] = [End("", "")]
        self._index, self._versions = index, Versions(index)
        self._symbols = _Symbols(index)
        self._positions: dict[End, int] = {}
        self._meanings: dict[tuple[str, int, tuple[tuple[str, str], ...]], _Meaning] = {}
        self._items: dict[str, int] = {}
        self._names = 0

    def observed(self, span: Span) -> Observed:
        """Return a span as it is counted."""
        key = (span.service, span.kind, span.facts)
        meaning = self._meanings.get(key)
        if meaning is None:
            if len(self._meanings) >= _MOST_LOOKUPS:
                self._meanings.clear()
            meaning = self._meanings[key] = self._meaning(span)
        return Observed(
            span.key, span.parent, meaning.target, meaning.caller, meaning.service, meaning.remote, meaning.source,
            span.time, span.micros, span.is_error,
        )  # fmt: skip

    def _meaning(self, span: Span) -> _Meaning:
        facts = dict(span.facts)
        item = self._symbols.of(span.kind, facts, span.service)
        symbol = self._item(item) if item else 0
        topic = self._name("topic", facts.get("destination", "")) if span.kind in (PRODUCER, CONSUMER) else 0
        service = self._name("service", span.service)
        if span.kind == PRODUCER:
            return _Meaning(symbol or topic, topic or symbol, 0, 0, service)
        if span.kind == CONSUMER:
            return _Meaning(symbol, symbol or topic, 1, topic if symbol else 0, service)
        return _Meaning(symbol, symbol, _remote(span.kind, facts), 0, service)

    def _item(self, item: Item) -> int:
        if item.id not in self._items:
            self._items[item.id] = self._position(self._versions.end(item))
        return self._items[item.id]

    def _name(self, kind: str, name: str) -> int:
        """Return the position of a topic or a service; beyond a bound they are not told apart."""
        if not name:
            return 0
        end = End("", f"{kind}:{name}")
        if end not in self._positions:
            if self._names >= _MOST_NAMES:
                return 0
            self._names += 1
        return self._position(end)

    def _position(self, end: End) -> int:
        if end not in self._positions:
            self._positions[end] = len(self.ends)
            self.ends.append(end)
        return self._positions[end]


def _remote(kind: int, facts: Mapping[str, str]) -> int:
    """Return the type of a call that a server's span serves, as a position in TYPES plus 1; 0 for other spans."""
    if kind != SERVER:
        return 0
    name = (
        "consumes_rpc"
        if "rpc_method" in facts
        else "consumes_endpoint"
        if "method" in facts or "route" in facts
        else "calls"
    )
    return TYPES.index(name) + 1


class _Symbols:
    """Looks up symbols by what spans say of them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._by_name: dict[str, list[str]] = defaultdict(list)  # paths by file name
        for path in index.files:
            self._by_name[path.rpartition("/")[2]].append(path)
        self._routes = Routes((parse_endpoint(use.name), use) for use in uses(index, "route:", "handles_route"))
        self._methods = {use.name.lower(): use for use in uses(index, "rpc:", "implements_rpc")}

    def of(self, kind: int, facts: Mapping[str, str], service: str) -> Item | None:
        """Return the symbol of a span, if it is of this repository and only one fits."""
        item = self._by_code(facts)
        if item is None and kind == SERVER:
            if "rpc_method" in facts:
                item = self._by_rpc(facts)
            elif "route" in facts:
                item = self._by_route(facts, service)
        return item

    # code.*

    def _by_code(self, facts: Mapping[str, str]) -> Item | None:
        file = facts.get("file", "").replace("\\", "/")
        parts = _parts(facts.get("namespace", ""), facts.get("function", ""))
        if file:
            return self._in_file(self._paths(file), parts, facts.get("line", ""))
        if not parts or (len(parts) == 1 and len(parts[0]) < _SHORTEST):
            return None
        candidates = [item for item in self._index.items("s.name = ?", (parts[-1],)) if item.kind in CALLABLE_KINDS]
        return _best(candidates, lambda item: _agreement(item, parts))

    def _paths(self, file: str) -> list[str]:
        """Return the indexed files that a path of a deployed file can be: those with the longest common end."""
        if is_vendored(file.lstrip("/")) or any(folder in file for folder in _INSTALLED):
            return []
        recorded = file.split("/")
        lengths = {path: _common_end(path.split("/"), recorded) for path in self._by_name.get(recorded[-1], ())}
        longest = max(lengths.values(), default=0)
        return [path for path, length in lengths.items() if length == longest]

    def _in_file(self, paths: Sequence[str], parts: Sequence[str], line: str) -> Item | None:
        """Return the function of a file: by name, several of that name by line; without a name by line alone."""
        number = int(line) if line.isdecimal() and len(line) < 10 else 0
        if not parts:
            if len(paths) != 1 or not number:
                return None
            inner = Outline(self._index.in_file(paths[0])).enclosing(number)
            return next((item for item in inner if item.kind in CALLABLE_KINDS), None)
        named = [
            item
            for path in paths
            for item in self._index.in_file(path)
            if item.name == parts[-1] and item.kind in CALLABLE_KINDS
        ]
        at_line = [item for item in named if item.start <= number <= item.end]
        return _best(at_line or named, lambda item: 1 + len(_common(_symbol_parts(item), parts)))

    # http.route and rpc.*

    def _by_route(self, facts: Mapping[str, str], service: str) -> Item | None:
        endpoint = parse_endpoint(f"{facts.get('method', '')} {facts['route']}".strip())
        handlers = [use for use, _ in self._routes.matching(endpoint)]
        if len(handlers) > 1:  # services of one repository with the same route: that in a folder of the service's name
            handlers = [use for use in handlers if _names_service(use.path, service)]
        return self._used(handlers)

    def _by_rpc(self, facts: Mapping[str, str]) -> Item | None:
        service, _, method = facts["rpc_method"].strip("/").rpartition("/")
        service = service or facts.get("rpc_service", "")
        if use := self._methods.get(f"{service}/{method}".lower()):
            return self._used([use])
        owners = {service.rpartition(".")[2].lower().removesuffix("service") + suffix for suffix in _SUFFIXES}
        owners.add(service.rpartition(".")[2].lower())
        names = {method, method[:1].lower() + method[1:], re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", method).lower()}
        candidates = [
            item
            for name in sorted(names)
            for item in self._index.items("s.name = ?", (name,))
            if item.kind in CALLABLE_KINDS
            and not item.test
            and owners & set(map(str.lower, _symbol_parts(item)[-2:-1]))
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _used(self, handlers: Iterable[Use]) -> Item | None:
        ids = {use.id for use in handlers}
        return self._index.by_id(ids.pop()) if len(ids) == 1 else None


def _parts(namespace: str, function: str) -> list[str]:
    """Split a qualified name; frames and files that only wrap a function are left out."""
    if namespace in _NO_NAMESPACE:
        namespace = ""
    text = _RECEIVER.sub("", f"{namespace}.{function}" if namespace else function)
    return [part for part in _SEPARATORS.split(text) if part and part not in _FRAMES]


def _symbol_parts(item: Item) -> list[str]:
    return [part for part in _SEPARATORS.split(item.symbol) if part]


def _agreement(item: Item, parts: Sequence[str]) -> int:
    """Return how many parts of a qualified name an item accounts for, by symbol and path; 0 if they disagree.

    Python counts file names among modules, Go and Java do not: `shop.cart.Cart.total`, `com.shop.Cart.total`.
    """
    symbol = _symbol_parts(item)
    common = len(_common(symbol, parts))
    rest = list(parts[: len(parts) - common])
    if common < len(symbol) and rest:
        return 0  # another type of the same repository
    if not rest:
        return common
    folders = [part for part in re.split(r"[/.]", item.path)[:-1] if part not in _FRAMES]
    for path in (folders, folders[:-1]):
        if shared := len(_common(path, rest)):
            return common + shared
    return 0


def _common(left: Sequence[str], right: Sequence[str]) -> Sequence[str]:
    """Return the common end of two sequences of names."""
    size = _common_end(left, right)
    return right[len(right) - size :]


def _common_end(left: Sequence[str], right: Sequence[str]) -> int:
    size = 0
    for name, other in zip(reversed(left), reversed(right), strict=False):
        if name != other:
            break
        size += 1
    return size


def _best(items: Iterable[Item], quality: Callable[[Item], int]) -> Item | None:
    """Return the item of the highest quality above 0, if there is only one."""
    rated = [(quality(item), item) for item in items]
    top = max((rating for rating, _ in rated), default=0)
    chosen = [item for rating, item in rated if rating == top]
    return chosen[0] if top and len(chosen) == 1 else None


def _names_service(path: str, service: str) -> bool:
    """Return whether a folder or the file is named like a service: `services/cart/app.py`, `cart-service`."""
    name = re.sub(r"[^a-z0-9]", "", service.lower()).removesuffix("service")
    folders = (re.sub(r"[^a-z0-9]", "", part.lower()).removesuffix("service") for part in re.split(r"[/.]", path)[:-1])
    return bool(name) and name in folders


# Ingesting

_CHUNK = 20_000  # spans counted in one transaction: some 5 MB, 0.2 s


def chunks(
    batches: Iterable[Batch], resolver: Resolver, size: int = _CHUNK
) -> Iterator[list[tuple[int, list[Observed]]]]:
    """Yield batches as they are counted, in groups of about `size` spans."""
    chunk: list[tuple[int, list[Observed]]] = []
    spans = 0
    for batch in batches:
        chunk.append((batch.digest, [resolver.observed(span) for span in batch.spans]))
        spans += len(batch.spans)
        if spans >= size:
            yield chunk
            chunk, spans = [], 0
    if chunk:
        yield chunk
