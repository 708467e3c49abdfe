"""Services of a file: routes it declares, endpoints it calls, feature flags it asks for.

`calls` reads calls and literals in every language, `routes`, `endpoints`, `flags` and `rails` interpret them by the
tables of `languages/frameworks`. Only calls with a name of those tables are looked at. Prefixes, base addresses and
constants are followed within the file, so that the result is a function of its content.
"""

from __future__ import annotations

from functools import lru_cache

from tree_sitter import Tree

from assay.index.chains import last
from assay.index.extract.collect import Captures, Mark
from assay.index.extract.nest import Nesting
from assay.index.extract.services import rails
from assay.index.extract.services.calls import Call, Source
from assay.index.extract.services.endpoints import Endpoints
from assay.index.extract.services.flags import Flags
from assay.index.extract.services.routes import Routes
from assay.index.facts import (
    ACCESS,
    CALL,
    DECORATE,
    ENDPOINT,
    FILE,
    FLAG,
    MENTION,
    MODULE_MOUNT,
    MOUNT,
    NEW,
    ROUTE,
    ServiceFact,
    SymbolFact,
)
from assay.languages.frameworks import FlagLibrary, clients_of, flags_of, frameworks_of, names_of

MAX_CALLS = 20_000  # of one file that are looked at; generated code has more
MAX_CACHED = 100_000  # chains whose kind is remembered
_CALLS = frozenset({CALL, NEW, DECORATE})
_LOOKUPS = frozenset({CALL, ACCESS, MENTION})
_ROLES = _CALLS | _LOOKUPS
_NAMED, _SETTING = 1, 2  # kinds of chains
_SETTINGS = ("FEATURE", "Flipper[", "eatureFlags", "eature_flags")  # parts of `settings.FEATURE_X`, `FEATURES["x"]`, …


def build_services(
    captures: Captures, nesting: Nesting, symbols: list[SymbolFact], tree: Tree, patterns: tuple[str, ...] = ()
) -> list[ServiceFact]:
    """Return the routes, endpoints and flags of a file; `patterns` are names of the repository's own flag calls."""
    language = captures.language.name
    kinds = _kinds(language, patterns)
    marks: list[Mark] = []
    settings: list[Mark] = []
    for mark in captures.marks:
        text = mark[3]
        kind = kinds.get(text)
        if kind is None:
            kind = kinds[text] = _kind(text, kinds)
        if kind and mark[2] in _ROLES:
            if kind & _NAMED and mark[2] in _CALLS:
                marks.append(mark)
            if kind & _SETTING and mark[2] in _LOOKUPS:
                settings.append(mark)
    if not marks and not settings:
        return []
    marks.sort()
    return _Reader(captures, nesting, symbols, tree, patterns).read(marks[:MAX_CALLS], settings[:MAX_CALLS])


class _Kinds(dict[str, int]):
    """Cache of the kind of each chain: a name of the tables, a setting with flags, both, or neither."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names


@lru_cache(maxsize=64)
def _kinds(language: str, patterns: tuple[str, ...]) -> _Kinds:
    return _Kinds(names_of(language) | {pattern.rpartition(".")[2] for pattern in patterns})


@lru_cache(maxsize=64)
def _flag_libraries(language: str, patterns: tuple[str, ...]) -> tuple[FlagLibrary, ...]:
    own = FlagLibrary("assay.toml", calls=dict.fromkeys(patterns, 0), decorators=frozenset(patterns))
    return (*flags_of(language), own)


def _kind(text: str, kinds: _Kinds) -> int:
    if len(kinds) > MAX_CACHED:
        kinds.clear()
    return _NAMED * (last(text) in kinds.names) + _SETTING * any(part in text for part in _SETTINGS)


class _Reader:
    """Reads the services of one file."""

    def __init__(
        self, captures: Captures, nesting: Nesting, symbols: list[SymbolFact], tree: Tree, patterns: tuple[str, ...]
    ) -> None:
        language = captures.language.name
        self._captures, self._nesting, self._symbols = captures, nesting, symbols
        self._source = Source(captures, tree)
        self._routes = Routes(self._source, frameworks_of(language))
        self._endpoints = Endpoints(self._source, clients_of(language))
        self._flags = Flags(self._source, _flag_libraries(language, patterns))
        self._facts: dict[tuple[int, int, str, str], ServiceFact] = {}

    def read(self, marks: list[Mark], settings: list[Mark]) -> list[ServiceFact]:
        offsets = sorted({mark[0] for mark in (*marks, *settings)})
        owners = dict(zip(offsets, self._nesting.enclosing_definitions(offsets), strict=True))
        calls: list[tuple[Mark, Call]] = []
        for mark in marks:
            node = self._source.call_at(mark[0], mark[1], mark[2] == DECORATE)
            if node is not None:
                calls.append((mark, Call(self._source, node)))
        for mark, call in calls:
            if mark[2] == CALL:
                self._routes.note_mount(call)
        decorated: dict[int, list[tuple[Mark, Call]]] = {}
        if self._captures.language.name == "ruby" and rails.is_routes(self._captures.source):
            for line, name, handler in rails.read(self._source):
                self._add(ROUTE, FILE, line, name, handler)
            return list(self._facts.values())
        for mark, call in calls:
            start, end, role, text = mark
            if role == DECORATE:
                symbol = self._nesting.symbol_at(owners[start], start, True)
                if symbol != FILE:
                    decorated.setdefault(symbol, []).append((mark, call))
                continue
            symbol = self._nesting.symbol_at(owners[start], start, False)
            self._read_call(call, text, symbol, self._captures.line(end - 1))  # of the last name of a long chain
        for symbol, rows in decorated.items():
            self._read_decorators(symbol, rows, decorated)
        for start, end, _, text in settings:
            symbol = self._nesting.symbol_at(owners[start], start, False)
            for flag in self._flags.of_setting(text, start, end):
                self._add(FLAG, symbol, self._captures.line(start), flag)
        return list(self._facts.values())

    def _read_call(self, call: Call, text: str, symbol: int, line: int) -> None:
        owner = self._symbols[symbol].name if symbol != FILE else ""
        routes = list(self._routes.registered(call, owner))
        for route in routes:
            self._add(ROUTE, symbol, line, route.name, route.handler, route.by_verb)
        if all(route.handler for route in routes):
            handler = routes[0].handler if routes else ""
            for endpoint in self._endpoints.called(call, text):
                self._add(ENDPOINT, symbol, line, endpoint, handler)
        for path, router, is_module in self._routes.mounts(call):
            self._add(MODULE_MOUNT if is_module else MOUNT, symbol, line, path, router)
        for flag in self._flags.of_call(call, text):
            self._add(FLAG, symbol, line, flag)

    def _read_decorators(
        self, symbol: int, rows: list[tuple[Mark, Call]], decorated: dict[int, list[tuple[Mark, Call]]]
    ) -> None:
        fact = self._symbols[symbol]
        line = self._captures.line(rows[0][0][0])
        for mark, call in rows:
            for flag in self._flags.of_call(call, mark[3]):
                self._add(FLAG, symbol, self._captures.line(mark[0]), flag)
        if fact.kind not in ("function", "method", "property", "constructor"):
            return
        around = [call for _, call in decorated.get(fact.parent, ())]
        class_name = self._symbols[fact.parent].name if fact.parent != FILE else ""
        for is_client, name in self._routes.declared([call for _, call in rows], around, fact.name, class_name):
            self._add(ENDPOINT if is_client else ROUTE, symbol, line, name)

    def _add(self, kind: int, symbol: int, line: int, name: str, handler: str = "", by_verb: bool = False) -> None:
        self._facts.setdefault((kind, symbol, name, handler), ServiceFact(kind, symbol, line, name, handler, by_verb))
