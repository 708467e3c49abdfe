"""Edges to the rpcs of services: methods that implement them, calls of generated clients that consume them.

The target is the rpc of a `.proto` file of the repository, else an external name `rpc:package.Service/Method`, without
the package where nothing tells it. `store/links/rpc.py` links callers to implementations, also of other repositories.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from assay.core.items import CALLABLE_KINDS, DATA_KINDS
from assay.index.chains import bare
from assay.index.extract.registrations import parse_object
from assay.index.facts import FILE, Reference
from assay.index.file import File, Sym
from assay.index.resolve.edges import RESOLVED, FileEdges
from assay.index.resolve.guesses import Outcome
from assay.index.values import TYPE_LIKE, External, Folder, Instance, Item, symbol_of
from assay.languages.rpc import DECORATORS, DESCRIPTIONS, GENERATED, LOADED, REGISTRATION, Generated, folded, rpc_name

MAX_PARAMETERS = 3  # of an implementation: request, response stream and context in C#
_PROTOBUF = "protobuf"
_WORDS = re.compile(r"[A-Za-z0-9]+")


class _Service(NamedTuple):
    """A service: its full name if it is known, else its name, and its rpcs by folded name, if a `.proto` file has it."""

    name: str
    rpcs: dict[str, Sym] | None = None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


class Rpcs:
    """Adds the edges between a file's code and the rpcs of services."""

    def __init__(self, edges: FileEdges) -> None:
        self._edges, self._file = edges, edges.file
        self._evaluator, self._table = edges.evaluator, edges.table
        self._generated = GENERATED.get(edges.file.language.kin)

    # Callers

    def add_call(self, row: Reference, source: Sym, outcome: Outcome) -> None:
        """Add the rpc that a call of a client's method consumes, and the rpcs that a registration implements."""
        generated = self._generated
        if generated is None:
            return
        if row.handler and REGISTRATION.fullmatch(bare(row.chain.rpartition(".")[2])):
            self._add_registration(row, source, generated)
        elif outcome.external:
            client, _, method = outcome.external.rpartition(".")
            if client:
                self._add_consumer(client, method, row, source, generated, outside=True)
        else:
            for sym, _, provenance in outcome.items:
                client, _, method = sym.symbol.rpartition(".")
                if client and sym.kind == "method" and provenance == "resolved":
                    self._add_consumer(client, method, row, source, generated, outside=False)

    def _add_consumer(
        self, client: str, method: str, row: Reference, source: Sym, generated: Generated, outside: bool
    ) -> None:
        match = _pattern(generated.client).search(client)
        if match is None or _pattern(generated.helpers).fullmatch(method):
            return
        service = self._service(match["service"], client)
        if service.rpcs is None and not (outside and self._is_generated(client, generated)):
            return
        plain = method.removesuffix(generated.suffix)
        target = (service.rpcs is not None and self._target(service, method)) or self._target(service, plain)
        if target:
            self._edges.add(source, target, "consumes_rpc", row.line, RESOLVED)

    # Implementations

    def add_implementations(self) -> None:
        """Add the rpcs that the file's methods implement, by the generated bases of their types.

        A method counts in its own file, as its type may be in another one.
        """
        generated = self._generated
        if generated is None:
            return
        by_owner: dict[Sym, list[_Service]] = {}
        for index, fact in enumerate(self._file.facts.symbols):
            if fact.kind == "method":
                self._edges.bounded(self._add_method, self._file.sym(index), by_owner, generated)

    def _add_method(self, sym: Sym, by_owner: dict[Sym, list[_Service]], generated: Generated) -> None:
        owner = self._evaluator.hierarchy.enclosing_type(self._file, sym.index)
        if owner is None or owner.kind not in TYPE_LIKE:
            return
        if owner not in by_owner:
            by_owner[owner] = self._implemented(owner, generated)
        for service in by_owner[owner]:
            rpc = service.rpcs.get(folded(sym.name)) if service.rpcs is not None else None
            is_spelled = rpc is not None and (rpc.name == sym.name or not generated.exact)
            if is_spelled or (service.rpcs is None and self._looks_like_rpc(sym, generated)):
                line = self._file.facts.symbols[sym.index].start
                self._add_implementation(sym, service, sym.name, line)

    def _implemented(self, sym: Sym, generated: Generated) -> list[_Service]:
        """Return the services whose generated bases a type has."""
        ancestry, pattern, out = self._evaluator.hierarchy.ancestry(sym), _pattern(generated.server), []
        bases = [(name, True) for name in ancestry.outside] + [(base.symbol, False) for base in ancestry.types[1:]]
        for base, outside in dict.fromkeys(bases):
            if match := pattern.search(base):
                service = self._service(match["service"], base)
                if service.rpcs is not None or (outside and self._is_generated(base, generated)):
                    out.append(service)
        return out

    def _add_implementation(self, source: Sym, service: _Service, name: str, line: int) -> None:
        if target := self._target(service, name):
            self._edges.add(source, target, "implements_rpc", line, RESOLVED)

    def _looks_like_rpc(self, member: Sym, generated: Generated) -> bool:
        """Return whether a method has the spelling and a parameter of an implementation."""
        if member.name.startswith("_") or (generated.same_case and not member.name[:1].isupper()):
            return False
        file = self._table.file(member.path)
        if file is None or file is not self._file:  # only its signature may be looked up from elsewhere
            return file is not None and 1 <= file.facts.symbols[member.index].arity <= MAX_PARAMETERS
        rows = (row for rows in file.bindings.get(member.index, {}).values() for row in rows)
        return any(_pattern(generated.parameter).search(f"{row.name} {row.type}") for row in rows)

    # Registrations and decorators

    def _add_registration(self, row: Reference, source: Sym, generated: Generated) -> None:
        last = bare(row.chain.rpartition(".")[2])
        match = REGISTRATION.fullmatch(last)
        if match and match.group(1):
            package = self._evaluator.evaluate(row.chain.rpartition(".")[0], self._file, row.source, row.line)
            place = package.path if isinstance(package, Folder) else ""
            place = package.name if isinstance(package, External) else place
            service = self._service(match.group(1), f"{place}.{last}")
        else:
            service = self._described(last, row, generated)
        if service.name:
            self._add_object(row, source, service, generated)

    def _described(self, call: str, row: Reference, generated: Generated) -> _Service:
        """Return the service that the first argument of a registration describes; no name if it is no service."""
        description = row.literal
        match = DESCRIPTIONS[call].search(description) if call in DESCRIPTIONS else None
        if match is None:
            return _Service("")
        whole = description.removesuffix(".service").rpartition(".")[2]
        services = [self._service(name, description) for name in dict.fromkeys((whole, match["service"]))]
        described = next((service for service in services if service.rpcs is not None), services[-1])
        if described.rpcs is None and not self._is_description(description, row, generated):
            return _Service("")
        return described

    def _is_description(self, description: str, row: Reference, generated: Generated) -> bool:
        """Return whether a name means a service of a loaded package, `proto.Orders.service`, or of generated code."""
        if LOADED.fullmatch(description):
            return True
        value = self._evaluator.evaluate(description, self._file, row.source, row.line)
        return isinstance(value, External) and self._is_generated(value.name, generated)

    def _add_object(self, row: Reference, source: Sym, service: _Service, generated: Generated) -> None:
        """Add the methods of a registered object: a literal, a variable that holds one, or an object of a type."""
        functions = parse_object(row.handler)
        for key, expression in functions.items():
            function = self._function(expression, row) if expression else None
            self._add_implementation(function or source, service, key, row.line)
        if functions or row.handler.startswith("{"):
            return
        sym = self._registered(row)
        if sym is None or (sym.kind in TYPE_LIKE and service in self._implemented(sym, generated)):
            return  # the files with its methods add them
        if service.rpcs is None and row.handler in self._file.language.self_names:
            return  # an object that registers itself may be several services
        if service.rpcs is not None:
            for name, rpc in service.rpcs.items():
                for spelling in (rpc.name, rpc.name[:1].lower() + rpc.name[1:]):
                    for member in self._evaluator.hierarchy.member(sym, spelling)[:1]:
                        if member.kind in CALLABLE_KINDS:
                            self._add_implementation(member, service, name, row.line)
            return
        for member in self._evaluator.hierarchy.all_members(sym):
            # an object without a type has nothing but implementations
            if member.kind == "method" and (sym.kind not in TYPE_LIKE or self._looks_like_rpc(member, generated)):
                self._add_implementation(member, service, member.name, row.line)

    def _registered(self, row: Reference) -> Sym | None:
        """Return the type of a registered object, or the variable that holds an object without a type."""
        value = self._evaluator.evaluate(row.handler, self._file, row.source, row.line)
        if isinstance(value, Item) and value.sym.kind in DATA_KINDS:
            inner = symbol_of(self._evaluator.types.of(value.sym))
            return inner if inner and inner.kind in TYPE_LIKE else value.sym
        if (sym := symbol_of(value)) or not row.handler.endswith("()"):
            return sym
        return self._returned(self._function(row.handler.removesuffix("()"), row))

    def _returned(self, function: Sym | None) -> Sym | None:
        """Return the type that a function returns whose declared result is the generated interface."""
        file = self._table.scope(function.path) if function else None
        if function is None or file is None:
            return None
        for expression in file.facts.symbols[function.index].values:
            # locals of a function with a declared result cannot be looked up from elsewhere
            value = self._evaluator.evaluate(expression, file, function.index, local=False)
            if isinstance(value, Instance) and value.sym.kind in TYPE_LIKE:
                return value.sym
        return None

    def _function(self, expression: str, row: Reference) -> Sym | None:
        value = self._evaluator.evaluate(expression.removesuffix(".bind()"), self._file, row.source, row.line)
        return value.sym if isinstance(value, Item) and value.sym.kind in CALLABLE_KINDS else None

    def add_decorator(self, row: Reference, source: Sym) -> None:
        """Add the rpc that a decorator declares: `@GrpcMethod('OrderService', 'PlaceOrder')`."""
        if row.source == FILE or bare(row.chain.rpartition(".")[2]) not in DECORATORS:
            return
        owner = self._evaluator.hierarchy.enclosing_type(self._file, row.source)
        service = self._service(row.literal or (owner.name if owner else ""), "")
        if service.name and source.kind == "method":
            self._add_implementation(source, service, row.handler or source.name, row.line)

    # Services

    def _service(self, name: str, generated: str) -> _Service:
        """Return a service by its name, which may begin with the end of its package.

        Among several of that name, the name of the generated code decides.
        """
        by_full: dict[str, list[tuple[Sym, File]]] = {}
        qualified, name = f".{name}", name.rpartition(".")[2]
        for sym in self._table.named(name, _PROTOBUF) if name else ():
            file = self._table.file(sym.path)
            if sym.kind == "interface" and file is not None and f".{file.full(sym.index)}".endswith(qualified):
                by_full.setdefault(file.full(sym.index), []).append((sym, file))
        if not by_full:
            return _Service(name)
        full = self._choose(by_full, generated)
        if not full:
            return _Service(name, {})
        nearest = min(by_full[full], key=lambda pair: (_distance(pair[0].path, self._file.path), pair[0].path))[0]
        members = self._table.members(f"{_PROTOBUF}:{full}")
        return _Service(full, {folded(m.name): m for m in members if m.kind == "method" and m.path == nearest.path})

    @staticmethod
    def _choose(by_full: dict[str, list[tuple[Sym, File]]], generated: str) -> str:
        """Return the full name that shares most with the name of the generated code; empty if several do."""
        if len(by_full) == 1:
            return next(iter(by_full))
        words = set(_WORDS.findall(generated))

        def shared(full: str) -> tuple[int, int]:
            package = full.split(".")[:-1]
            stems = [sym.path.rpartition("/")[2].removesuffix(".proto") for sym, _ in by_full[full]]
            return (
                any(f"{stem}_pb" in generated or f"{stem}_grpc" in generated for stem in stems),
                sum(segment in words for segment in package),
            )

        scores = {full: shared(full) for full in by_full}
        best = max(scores.values())
        names = [full for full, score in scores.items() if score == best]
        return names[0] if len(names) == 1 else ""

    def _target(self, service: _Service, method: str) -> Sym | str | None:
        """Return the rpc of a method: an item, or an external name if no `.proto` file has the service."""
        if service.rpcs is not None:
            return service.rpcs.get(folded(method))
        return f"rpc:{service.name}/{rpc_name(method)}" if method else None

    @staticmethod
    def _is_generated(name: str, generated: Generated) -> bool:
        return not generated.module or _pattern(generated.module).search(name) is not None


def _distance(first: str, second: str) -> int:
    """Return the number of folders between two files: up from one, down to the other."""
    one, other = first.split("/")[:-1], second.split("/")[:-1]
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return len(one) + len(other) - 2 * shared
