"""Outcomes, confidence levels, and the shared state of the resolver's mixins."""

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
from assay.index.table import BudgetExceeded, Table
from assay.text.terms import words

P = ParamSpec("P")

MAX_CANDIDATES = 5  # per call
MAX_NAMESAKES = 40  # a name with more definitions is too common to guess
MAX_OVERLOADS = 500  # considered per call
CO_TESTED = 8  # items of one test that are linked pairwise

# confidence by kind of evidence; verified by the spot check in docs/resolution.md
CERTAIN, RESOLVED, BY_NAME_AND_HINT, BY_NAME = 1.0, 0.9, 0.7, 0.6
BY_NAME_OF_FIELD = 0.5  # a field that holds a function: untyped objects share its name more often than a method's

TYPE_LIKE = TYPE_KINDS | {"module"}
FIELD_LIKE = frozenset({"field", "property"})
MEMBERS = frozenset({"method", "property"})
PLAIN_DATA = re.compile(
    r"(?:string|number|boolean|bigint|symbol|null|undefined|true|false|any|unknown|Record|Array|Map|Set|Promise|Date)\b|[\"'`\d\[{]|.*\]$",
    re.S,
)
PATH = re.compile(r"\b([A-Z]\w*)\.(?=[A-Z])")  # dot between two type names, for languages with another separator


class CallCounts(NamedTuple):
    """Number of call sites of a file by outcome."""

    resolved: int
    candidates: int
    external: int
    unresolved: int
    everyday: int  # subset of external: common method names on unknown objects that the repository also defines


# (type, source, target) → (provenance, confidence, line)
Edges = dict[tuple[str, str, str], tuple[str, float, int]]


class Resolved(NamedTuple):
    """A file's edges, the keys of all lookups made to find them, its call counts, and the error if it failed."""

    edges: Edges
    reads: set[str]
    calls: CallCounts
    problem: str = ""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """Result of resolving a call or name: items with confidence and provenance, an external name, or neither."""

    items: tuple[tuple[Sym, float, str], ...] = ()
    external: str = ""
    unresolved: bool = False
    everyday: bool = False


NOTHING = Outcome()


def single_target(sym: Sym, confidence: float, provenance: str = "resolved") -> Outcome:
    return Outcome(items=((sym, confidence, provenance),))


def with_receiver(row: Reference) -> Reference:
    """Return a call of an extension method with the receiver counted as its first argument."""
    return msgspec.structs.replace(row, arity=row.arity + 1) if row.arity >= 0 else row


def accepts_arguments(fact: SymbolFact, count: int) -> bool:
    """Return whether a function accepts `count` arguments."""
    maximum = max(fact.arity, 0)
    return maximum - fact.optional - fact.variadic <= count and (fact.variadic or count <= maximum)


def outside_name(value: Value, name: str) -> str:
    return f"{value.name}.{name}" if value.kind == "outside" or "." in value.name else f".{name}"


def looks_like_interface(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(last) > 1 and last[0] == "I" and last[1].isupper()


def named_like(receiver: str, sym: Sym) -> bool:
    """Return whether a receiver's name ends like the owner's: `request.x()` and class Request."""
    last = bare(receiver.rpartition(".")[2]).lstrip("_")
    owner = sym.symbol.replace("::", ".").split(".")[-2:-1]
    if len(last) < 3 or not owner or last == sym.name:  # `q.filter().filter()` does not suggest a class Filter
        return False
    receiver_words, owner_words = words(last), words(owner[0])
    return bool(receiver_words) and receiver_words == owner_words[-len(receiver_words) :]


class ResolverBase:
    """State of the current file. Each mixin of the resolver is a module of this package."""

    file: File

    def __init__(self, table: Table) -> None:
        self.table = table
        self.values = Evaluator(table)
        self._callable_members: dict[
            tuple[str, str, bool], list[Sym]
        ] = {}  # by name, language family, and whether the caller is a test

    def _start(self, file: File) -> None:
        """Reset the state for the next file."""
        self.file = file
        self.table.begin_file()
        self.values.begin_file()
        self.edges: Edges = {}
        self.counts = [0] * len(CallCounts._fields)
        self.called: dict[int, dict[Sym, int]] = defaultdict(dict)  # caller → callee → first line
        self.outcomes: dict[tuple[object, ...], Outcome] = {}  # cached call targets

    def _try(self, resolve: Callable[P, None], *arguments: P.args, **named: P.kwargs) -> None:
        """Resolve one reference with its own budget; exceeding it yields no edges."""
        self.table.begin_query()
        try:
            resolve(*arguments, **named)
        except BudgetExceeded:  # not a context manager: runs for every reference
            return

    def _add(self, source: Sym, target: Sym | str, kind: str, confidence: float, provenance: str, line: int) -> None:
        """Add an edge, or raise the confidence of an existing one."""
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
        existing = self.edges.get(key)
        if existing is None or existing[1] < confidence:
            self.edges[key] = (provenance, confidence, existing[2] if existing else line)

    # implemented by the mixins

    def _by_name(self, name: str, receiver: str, source: Sym, strict: bool = False) -> Outcome:
        raise NotImplementedError

    def _global(self, name: str) -> Outcome:
        raise NotImplementedError

    def _unknown(self, name: str) -> Outcome:
        raise NotImplementedError

    def _conventions(self, row: Reference, source: Sym) -> None:
        raise NotImplementedError
