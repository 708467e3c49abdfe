"""Links: what is known about items from outside the code, beside the edges of the index.

Edges are found in one file's code and stored by number. Links are statements by manifests (dependencies, deployments),
owners and authors, endpoints of other services, and traces of production. They are kept by id and resolved against an
open index, as the history is: an edit never rewrites them, and repositories of a workspace can link to each other.

Each module here is a source with a row in `SOURCES`: it lists all links of an index, or, where they would be too many
(authors, documents), those of one item when asked. What a source reads was written below `.assay/` by `assay.index`, or
is derived from edges to external names (routes, endpoints).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from assay.core.items import Link
from assay.store.links import authors, documents, rpc, services, stated, traces

if TYPE_CHECKING:
    from assay.store.index import Index


class LinkSource(NamedTuple):
    """Functions that list links: all of an index, or those with an item, given by id, at either end."""

    all: Callable[[Index], Iterable[Link]] | None = None
    about: Callable[[Index, str], Iterable[Link]] | None = None
    types: frozenset[str] = frozenset()  # of the links that `about` lists


SOURCES: Mapping[str, LinkSource] = {
    "services": LinkSource(all=services.links),
    "rpc": LinkSource(all=rpc.links),
    "traces": LinkSource(all=traces.links),
    "stated": LinkSource(all=stated.links, about=stated.owners, types=frozenset({"owned_by"})),
    "authors": LinkSource(about=authors.links, types=frozenset({"authored_by"})),
    "documents": LinkSource(about=documents.links, types=frozenset({"documents"})),
}


class Links:
    """The links of an index, by either end."""

    def __init__(self, index: Index, sources: Iterable[LinkSource] | None = None) -> None:
        self._index = index
        chosen = list(SOURCES.values() if sources is None else sources)
        self.all: Sequence[Link] = sorted({link for source in chosen if source.all for link in source.all(index)})
        self._on_demand = [source for source in chosen if source.about]
        self._by_end: dict[str, list[Link]] = defaultdict(list)
        for link in self.all:
            self._by_end[link.source].append(link)
            self._by_end[link.target].append(link)

    def about(self, id: str, types: Collection[str] | None = None) -> Sequence[Link]:
        """Return the links with an item, or a name, at either end; of some types only, if given."""
        on_demand = {
            link
            for source in self._on_demand
            if source.about and (types is None or not source.types.isdisjoint(types))
            for link in source.about(self._index, id)
        }
        links = [*self._by_end.get(id, ()), *sorted(on_demand)]
        return links if types is None else [link for link in links if link.type in types]

    def deployments(self, path: str) -> Sequence[Link]:
        """Return the deployments that start a file or an entry point in it."""
        return self._deployments.get(path, ())

    @cached_property
    def _deployments(self) -> Mapping[str, Sequence[Link]]:
        out: dict[str, list[Link]] = defaultdict(list)
        for link in self.all:
            if link.type == "deployed_by":
                out[link.source.partition("::")[0]].append(link)
        return out

    def callers(self, types: Collection[str]) -> Mapping[int, Sequence[tuple[int, Link]]]:
        """Return the links of some types between two items, by the number of their target: (source, link)."""
        chosen = [link for link in self.all if link.type in types]
        ends = {id: item.number for link in chosen for id in link[:2] if (item := self._index.by_id(id))}
        out: dict[int, list[tuple[int, Link]]] = defaultdict(list)
        for link in chosen:
            if link.source in ends and link.target in ends:
                out[ends[link.target]].append((ends[link.source], link))
        return out
