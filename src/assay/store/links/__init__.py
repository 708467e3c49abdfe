"""Links: what is known about items from outside the code, beside the edges of the index.

Edges are found in one file's code and stored by number. Links are statements by manifests (dependencies, deployments),
owners and authors, endpoints of other services, and traces of production. They are kept by id and resolved against an
open index, as the history is: an edit never rewrites them, and repositories of a workspace can link to each other.

Each module here is a source: a function from an index to its links. `SOURCES` lists them. What a source reads was
written below `.assay/` by `assay.index`, or is derived from edges to external names (routes, endpoints).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.core.items import Link

if TYPE_CHECKING:
    from assay.store.index import Index

Source = Callable[["Index"], Iterable[Link]]

SOURCES: Mapping[str, Source] = {}


class Links:
    """The links of an index, by either end."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.all: Sequence[Link] = sorted(set(links))
        self._by_source: dict[str, list[Link]] = defaultdict(list)
        self._by_target: dict[str, list[Link]] = defaultdict(list)
        for link in self.all:
            self._by_source[link.source].append(link)
            self._by_target[link.target].append(link)

    def __len__(self) -> int:
        return len(self.all)

    def out_of(self, id: str) -> Sequence[Link]:
        return self._by_source.get(id, ())

    def into(self, id: str) -> Sequence[Link]:
        return self._by_target.get(id, ())


def collect(index: Index, sources: Iterable[Source] | None = None) -> Links:
    """Return the links of all sources."""
    chosen = SOURCES.values() if sources is None else sources
    return Links(link for source in chosen for link in source(index))
