"""The neighbourhood of items: what is one or a few relations away, in the code and around it.

Relations are the edges of the index and its links. Nodes are items, or names for what is outside the code: routes,
environment variables, flags, dependencies, deployments, owners.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.core.items import EDGE_NAMES, EXTERNAL, PROVENANCES, Item, Link
from assay.store.index import Index

# most informative first; edge types not listed are not shown
SHOWN = (
    "calls", "consumes_endpoint", "consumes_rpc", "implements_rpc", "overrides", "extends", "implements", "inherits",
    "decorates", "handles_route", "deployed_by", "gated_by_flag", "tests", "contains", "references", "type_hint_of",
    "accesses_field", "throws", "imports", "reads_env", "executes_process", "depends_on", "documents", "owned_by", "authored_by",
)  # fmt: skip
_ORDER = {name: rank for rank, name in enumerate(SHOWN)}
_NAMED = ("route:", "endpoint:", "rpc:", "flag:", "env:", "process:")  # external names that are shown
_MAX_EDGES = 2000  # edges per direction: a hub has more than anybody looks at


class Node(NamedTuple):
    """An item, or a name outside the code with its kind: `route`, `env`, `deployment`, `team`, …"""

    id: str
    name: str
    kind: str
    path: str = ""
    line: int = 0
    number: int = 0  # of the item; 0 for a name

    @classmethod
    def of(cls, item: Item) -> Node:
        if not item.number:  # stands for a name, see `linked_name`
            return cls.named(item.id)
        return cls(item.id, item.symbol or item.path, item.kind, item.path, item.start, item.number)

    @classmethod
    def named(cls, name: str) -> Node:
        """Return the node of a name such as `route:GET /users`, of a section (`docs/use.md#routes`) or of a manifest."""
        kind, _, rest = name.removeprefix(EXTERNAL).partition(":")
        if not rest or "/" in kind or "." in kind:
            return cls(name, name, "section" if "#" in name else "external" if name.startswith(EXTERNAL) else "file")
        return cls(name, rest, kind)


class Neighbour(NamedTuple):
    """A node one relation away."""

    node: Node
    edge: str
    provenance: str
    confidence: float
    line: int  # where the relation is written, in the source's file
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A node with its incoming and outgoing neighbours. The totals include neighbours that are not listed."""

    node: Node
    sources: tuple[Neighbour, ...]
    targets: tuple[Neighbour, ...]
    source_total: int
    target_total: int


def neighbourhood(index: Index, item: Item, most: int = 7, types: Collection[str] = SHOWN) -> Neighbourhood:
    """Return the neighbourhood of an item along some types of relations, at most `most` neighbours on each side."""
    links = links_about(index, item, types)
    sources = _strongest(index, [*_edges_into(index, item), *_ends(links, item, incoming=True)], types, most)
    targets = _strongest(index, [*_edges_out_of(index, item), *_ends(links, item, incoming=False)], types, most)
    return Neighbourhood(Node.of(item), sources[0], targets[0], sources[1], targets[1])


class _Relation(NamedTuple):
    """A relation to a neighbour, given by number, id or name."""

    end: int | str
    edge: str
    provenance: str
    confidence: float
    line: int
    detail: str = ""

    @property
    def order(self) -> tuple[int, bool, float, int, str]:
        return _ORDER[self.edge], not self.detail, -round(self.confidence, 4), self.line, self.provenance


def _edges_into(index: Index, item: Item) -> Iterator[_Relation]:
    for edge in index.edges.into(item.number)[:_MAX_EDGES]:
        yield _Relation(
            int(edge["source"]), EDGE_NAMES[edge["type"]], PROVENANCES[edge["provenance"]], float(edge["confidence"]),
            int(edge["line"]),
        )  # fmt: skip


def _edges_out_of(index: Index, item: Item) -> Iterator[_Relation]:
    for edge in index.edges.out_of(item.number)[:_MAX_EDGES]:
        number = int(edge["target"])
        end: int | str = number if number > 0 else index.external(item.number, -number)
        if isinstance(end, int) or end.startswith(_NAMED):
            yield _Relation(
                end, EDGE_NAMES[edge["type"]], PROVENANCES[edge["provenance"]], float(edge["confidence"]),
                int(edge["line"]),
            )  # fmt: skip


def _ends(links: Iterable[Link], item: Item, incoming: bool) -> Iterator[_Relation]:
    """Yield the other ends of an item's links."""
    for link in links:
        end, own = (link.source, link.target) if incoming else (link.target, link.source)
        if own != end and own in (item.id, item.path):
            yield _Relation(end, link.type, link.provenance, link.confidence, link.line, link.detail)


_OF_FILE = frozenset({"owned_by", "deployed_by"})  # links that mean a file as a whole


def links_about(index: Index, item: Item, types: Collection[str] = SHOWN) -> list[Link]:
    """Return the links of an item, and of its file where the file as a whole is meant (owners, deployments)."""
    of_file = index.links.about(item.path, _OF_FILE.intersection(types)) if item.symbol else ()
    return [*index.links.about(item.id, types), *of_file]


def linked_name(index: Index, name: str) -> Item | None:
    """Return a stand-in for a name that is no item but has links: a manifest, a dependency, a deployment."""
    if index.by_id(name) is not None or not any(name in link[:2] for link in index.links.all):
        return None
    return Item(0, name, "file", name, "", name, 0, 0, "", "", False)


def _strongest(
    index: Index, relations: Iterable[_Relation], types: Collection[str], most: int
) -> tuple[tuple[Neighbour, ...], int]:
    """Return the first neighbours, each once with its most informative relation, and the number of all."""
    best: dict[int | str, _Relation] = {}
    for relation in relations:
        if relation.edge in types and relation.edge in _ORDER:
            end = _number_of(index, relation.end)
            if end not in best or relation.order < best[end].order:
                best[end] = relation
    chosen = sorted(best.items(), key=lambda pair: (*pair[1].order, str(pair[0])))[:most]
    items = index.numbered(end for end, _ in chosen if isinstance(end, int))
    neighbours = (
        Neighbour(Node.of(items[end]) if isinstance(end, int) else Node.named(end), *relation[1:])
        for end, relation in chosen
    )
    return tuple(neighbours), len(best)


def _number_of(index: Index, end: int | str) -> int | str:
    """Return the number of an item given by its id; names stay as they are."""
    if isinstance(end, str) and (item := index.by_id(end)):
        return item.number
    return end


# Subgraphs: neighbourhoods of neighbourhoods


class Relation(NamedTuple):
    """An edge or a link between two nodes of a subgraph, by id."""

    source: str
    target: str
    type: str
    provenance: str
    confidence: float
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The nodes within some steps of the centre, and the relations between them that were followed."""

    centre: tuple[str, ...]
    nodes: tuple[Node, ...]
    relations: tuple[Relation, ...]
    total: int  # neighbours of the nodes that were expanded, including those that are not listed


def subgraph(
    index: Index, centre: Sequence[Item], depth: int = 1, most: int = 40, types: Collection[str] = SHOWN
) -> Subgraph:
    """Collect what is within `depth` relations of some items, nearest and most informative first."""
    nodes = {item.id: Node.of(item) for item in centre}
    relations: dict[tuple[str, str, str], Relation] = {}
    frontier, total = list(centre), 0
    for _ in range(depth):
        reached: list[int] = []
        for item in frontier:
            around = neighbourhood(index, item, most, types)
            total += around.source_total + around.target_total
            for neighbour, incoming in _alternating(around):
                if neighbour.node.id not in nodes:
                    if len(nodes) >= most:
                        continue
                    nodes[neighbour.node.id] = neighbour.node
                    if neighbour.node.number:
                        reached.append(neighbour.node.number)
                ends = (neighbour.node.id, item.id) if incoming else (item.id, neighbour.node.id)
                relations.setdefault((*ends, neighbour.edge), Relation(ends[0], ends[1], *neighbour[1:]))
        items = index.numbered(reached)
        frontier = [items[number] for number in reached]
    return Subgraph(tuple(item.id for item in centre), tuple(nodes.values()), tuple(relations.values()), total)


def _alternating(around: Neighbourhood) -> Iterator[tuple[Neighbour, bool]]:
    """Yield incoming and outgoing neighbours in turn, each with whether it is incoming: both sides get room."""
    for position in range(max(len(around.sources), len(around.targets))):
        yield from ((neighbour, True) for neighbour in around.sources[position : position + 1])
        yield from ((neighbour, False) for neighbour in around.targets[position : position + 1])


# What surrounds a change

_SURROUNDING = ("handles_route", "implements_rpc", "gated_by_flag", "owned_by", "documents")


def surroundings(index: Index, items: Sequence[Item], reached: Sequence[Item] = ()) -> list[Relation]:
    """Return what is outside the code around a change: routes, flags, deployments, owners, documents.

    Deployments are those of the changed items and of the items that the change reaches: an entry point calls the rest,
    or is in the same file.
    """
    out: dict[tuple[str, str, str], Relation] = {}
    for item in items:
        for neighbour in neighbourhood(index, item, _MAX_EDGES, _SURROUNDING).targets:
            out.setdefault(
                (item.id, neighbour.node.id, neighbour.edge), Relation(item.id, neighbour.node.id, *neighbour[1:])
            )
        for neighbour in neighbourhood(index, item, _MAX_EDGES, ("documents",)).sources:
            out.setdefault(
                (neighbour.node.id, item.id, neighbour.edge), Relation(neighbour.node.id, item.id, *neighbour[1:])
            )
    for link in deployments(index, [*items, *reached]):
        relation = Relation(
            link.source, link.target, link.type, link.provenance, link.confidence, link.line, link.detail
        )
        out.setdefault((link.source, link.target, link.type), relation)
    return sorted(out.values(), key=lambda relation: (_ORDER[relation.type], -relation.confidence, relation))


def deployments(index: Index, items: Iterable[Item]) -> list[Link]:
    """Return the deployments that start one of some items, or an entry point in a file of theirs, each once."""
    paths = dict.fromkeys(item.path for item in items)
    return list(dict.fromkeys(link for path in paths for link in index.links.deployments(path)))
