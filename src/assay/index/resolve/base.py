"""What the parts of the resolver share: how things end, and how edges are noted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, ParamSpec

import msgspec

from assay.core.items import EXTERNAL, TYPE_KINDS
from assay.index.chains import bare
from assay.index.expressions import Evaluator, Value
from assay.index.facts import Reference, SymbolFact
from assay.index.file import File, Sym
from assay.index.table import Table, Unanswerable
from assay.text.terms import words

P = ParamSpec("P")

MAX_CANDIDATES = 5  # that a call may be shared by
MAX_NAMESAKES = 40  # considered before a name is given up as too common
MAX_OVERLOADS = 500  # of one name in one place that a call chooses from
CO_TESTED = 8  # items of one test that are paired with each other

# how sure each way of resolving is; checked by the spot check in docs/resolution.md
CERTAIN, RESOLVED, BY_NAME_AND_HINT, BY_NAME = 1.0, 0.9, 0.7, 0.6
BY_NAME_OF_FIELD = (
    0.5  # a field that holds a function: its name is shared with untyped objects more often than a method's
)

TYPE_LIKE = TYPE_KINDS | {"module"}
FIELD_LIKE = frozenset({"field", "property"})
MEMBERS = frozenset({"method", "property"})
PLAIN_DATA = re.compile(
    r"(?:string|number|boolean|bigint|symbol|null|undefined|true|false|any|unknown|Record|Array|Map|Set|Promise|Date)\b|[\"'`\d\[{]|.*\]$",
    re.S,
)
PATH = re.compile(r"\b([A-Z]\w*)\.(?=[A-Z])")  # between types, where a language joins them otherwise


class CallCounts(NamedTuple):
    """How the call sites of a file ended."""

    resolved: int
    candidates: int
    external: int
    unresolved: int
    everyday: int  # of the external: methods of unknown objects with everyday names that the repository happens to define as well


# edges by type, source and target: provenance, confidence and line of each
Edges = dict[tuple[str, str, str], tuple[str, float, int]]


class Resolved(NamedTuple):
    """A file's edges, the keys of everything that was asked to find them, its call counts, and why it could not be resolved, if so."""

    edges: Edges
    reads: set[str]
    calls: CallCounts
    problem: str = ""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """How a call or name ended: items with their confidence, or an external name, or neither."""

    items: tuple[tuple[Sym, float, str], ...] = ()
    external: str = ""
    unresolved: bool = False
    everyday: bool = False


NOTHING = Outcome()


def one(sym: Sym, confidence: float, provenance: str = "resolved") -> Outcome:
    return Outcome(items=((sym, confidence, provenance),))


def with_receiver(row: Reference) -> Reference:
    """A call of an extension method as that of the function it is: the receiver is its first argument."""
    return msgspec.structs.replace(row, arity=row.arity + 1) if row.arity >= 0 else row


def takes(fact: SymbolFact, count: int) -> bool:
    """Whether a function can be called with that many arguments."""
    most = max(fact.arity, 0)
    return most - fact.optional - fact.variadic <= count and (fact.variadic or count <= most)


def outside_name(value: Value, name: str) -> str:
    return f"{value.name}.{name}" if value.kind == "outside" or "." in value.name else f".{name}"


def looks_like_interface(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(last) > 1 and last[0] == "I" and last[1].isupper()


def named_like(receiver: str, sym: Sym) -> bool:
    """`request.x()` and class Request: the last words agree."""
    last = bare(receiver.rpartition(".")[2]).lstrip("_")
    owner = sym.symbol.replace("::", ".").split(".")[-2:-1]
    if len(last) < 3 or not owner or last == sym.name:  # `q.filter().filter()` says nothing about a class Filter
        return False
    mine, theirs = words(last), words(owner[0])
    return bool(mine) and mine == theirs[-len(mine) :]


class ResolverBase:
    """The file at hand and what was found in it; each part of the resolver is a module of this package."""

    file: File

    def __init__(self, table: Table) -> None:
        self.table = table
        self.values = Evaluator(table)
        self._callable_members: dict[tuple[str, str, bool], list[Sym]] = {}  # by name, kin, and whether a test asks

    def _start(self, file: File) -> None:
        """Begins a file: nothing asked, nothing found yet."""
        self.file = file
        self.table.begin_file()
        self.values.begin_file()
        self.edges: Edges = {}
        self.counts = [0] * len(CallCounts._fields)
        self.called: dict[int, dict[Sym, int]] = defaultdict(dict)  # what each symbol calls, and on which line first
        self.outcomes: dict[tuple[object, ...], Outcome] = {}  # of calls, by place and words

    def _try(self, resolve: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
        """Resolves one thing with a budget of its own; what cannot be answered gives no edges."""
        self.table.begin_question()
        try:
            resolve(*arguments, **named)
        except Unanswerable:  # no context manager: this is done for every reference
            return

    def _add(self, source: Sym, target: Sym | str, kind: str, confidence: float, provenance: str, line: int) -> None:
        """Adds an edge, or strengthens the same one found before."""
        if isinstance(target, Sym):
            target_id = target.id
        elif self.file.language.separator != "." and ":" not in target:
            target_id = EXTERNAL + PATH.sub(r"\1" + self.file.language.separator, target)
        else:
            target_id = EXTERNAL + target
        source_id = source.id
        if source_id == target_id and kind != "calls":
            return
        key = (kind, source_id, target_id)
        known = self.edges.get(key)
        if known is None or known[1] < confidence:
            self.edges[key] = (provenance, confidence, known[2] if known else line)

    # the questions the parts ask each other; each is answered in its own module

    def _by_name(self, name: str, receiver: str, source: Sym, strict: bool = False) -> Outcome:
        raise NotImplementedError

    def _global(self, name: str) -> Outcome:
        raise NotImplementedError

    def _unknown(self, name: str) -> Outcome:
        raise NotImplementedError

    def _conventions(self, row: Reference, source: Sym) -> None:
        raise NotImplementedError
