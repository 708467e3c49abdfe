"""Resolve the handlers of routes, and add the edges of routes, endpoints and feature flags."""

from __future__ import annotations

from assay.core.items import CALLABLE_KINDS, TYPE_KINDS
from assay.index.facts import ENDPOINT, FILE, FLAG, MODULE_MOUNT, MOUNT, ROUTE, Import, ServiceFact
from assay.index.file import Sym
from assay.index.resolve.edges import RESOLVED, FileEdges
from assay.index.values import Item, Module
from assay.languages.frameworks import VERBS

_HANDLERS = CALLABLE_KINDS | TYPE_KINDS
# kind of fact → edge and prefix of the external name
_EDGES = {
    ROUTE: ("handles_route", "route:"),
    ENDPOINT: ("consumes_endpoint", "endpoint:"),
    FLAG: ("gated_by_flag", "flag:"),
}


def add_service(row: ServiceFact, edges: FileEdges) -> None:
    """Add the edges of a service fact; a route whose handler cannot be resolved has none."""
    if row.kind in (MOUNT, MODULE_MOUNT):
        _add_mount(row, edges)
        return
    type, prefix = _EDGES[row.kind]
    if not row.handler:
        edges.add(edges.file.sym(row.source), prefix + row.name, type, row.line, RESOLVED, "parsed")
        return
    if row.by_verb:
        members = {verb: handler for verb in VERBS if (handler := _handler(f"{row.handler}.{verb}", row, edges))}
        for verb, handler in members.items():
            edges.add(handler, f"{prefix}{verb.upper()} {row.name}", type, row.line, RESOLVED, "parsed")
        if members:
            return
    handler = _handler(row.handler, row, edges)
    if row.kind == ENDPOINT:
        if handler is None:
            edges.add(edges.file.sym(row.source), prefix + row.name, type, row.line, RESOLVED, "parsed")
    elif handler is not None:
        edges.add(handler, prefix + row.name, type, row.line, RESOLVED, "parsed")


def _add_mount(row: ServiceFact, edges: FileEdges) -> None:
    """Add the prefix of a router or module of another file; the routes of that file stand below it."""
    evaluator, file = edges.evaluator, edges.file
    if row.kind == MODULE_MOUNT:
        targets = file.style.targets(evaluator, Import(row.line, row.handler), file)
    else:
        value = evaluator.evaluate(row.handler, file, row.source, row.line)
        targets = [value.sym] if isinstance(value, Item) else []
        if isinstance(value, Module) and (module := edges.table.file(value.path)):
            targets = [module.sym(FILE)]
    for target in targets:
        if not isinstance(target, str) and target.path != file.path:
            edges.add(target, f"mount:{row.name}", "handles_route", row.line, RESOLVED, "parsed")


def _handler(chain: str, row: ServiceFact, edges: FileEdges) -> Sym | None:
    evaluator, file = edges.evaluator, edges.file
    owner, _, name = chain.rpartition(".")
    if owner and file.language.uniform_access:  # the method itself, not what calling it returns
        value = evaluator.attribute(evaluator.evaluate(owner, file, row.source, row.line), name, file)
    else:
        value = evaluator.evaluate(chain, file, row.source, row.line)
    return value.sym if isinstance(value, Item) and value.sym.kind in _HANDLERS else None
