"""JSON form of every answer, shared by `--format json` and the HTTP API."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from assay.api import Repository
from assay.core.items import Item
from assay.rank.impact import Affected
from assay.rank.neighbourhood import Relation, Subgraph
from assay.rank.owners import Owners
from assay.store.links.authors import day

if TYPE_CHECKING:
    from assay.answer.reply import Reply
    from assay.config.configuration import SearchSettings
    from assay.rank.explain import Explanation
    from assay.search.hits import SearchHit, SearchResults
    from assay.search.pattern import Match

Json = dict[str, Any]

_OPTIONAL = (
    "page",
    "headings",
    "symbol",
    "vector",
    "matches",
    "also",
    "contributions",
    "repository",
)  # omitted when empty


def item(symbol: Item) -> Json:
    """Return the stable JSON form of an item."""
    fields = {
        "id": symbol.id, "symbol": symbol.symbol, "kind": symbol.kind, "path": symbol.path, "start": symbol.start, "end": symbol.end,
        "signature": symbol.signature, "doc": symbol.doc, "test": symbol.test,
    }  # fmt: skip
    return fields | ({"repository": symbol.repository} if symbol.repository else {})


def symbols(pattern: str, matches: Sequence[Item], limit: int) -> Json:
    return {"pattern": pattern, "total": len(matches), "symbols": [item(match) for match in matches[:limit]]}


def affected(dependent: Affected) -> Json:
    return {
        **item(dependent.item), "depth": dependent.depth, "confidence": dependent.confidence,
        "edge": dependent.edge, "through": dependent.through, "line": dependent.line, "detail": dependent.detail,
    }  # fmt: skip


def impact(
    repo: Repository,
    changed: Sequence[Item],
    dependents: Sequence[Affected],
    limit: int,
    around: Sequence[Relation] = (),
) -> Json:
    return {
        "symbols": [item(symbol) | _observed(repo, symbol) for symbol in changed],
        "total": len(dependents),
        "affected": [affected(dependent) for dependent in dependents[:limit]],
        "surroundings": [relation._asdict() for relation in around],
    }


def _observed(repo: Repository, symbol: Item) -> Json:
    """Return the observed calls of an item, if there are any."""
    text = repo.observed(symbol)
    return {"observed": text} if text else {}


def graph(subgraph: Subgraph) -> Json:
    return {
        "centre": list(subgraph.centre), "total": subgraph.total,
        "nodes": [
            {"id": node.id, "name": node.name, "kind": node.kind, "path": node.path, "line": node.line} for node in subgraph.nodes
        ],
        "edges": [relation._asdict() for relation in subgraph.relations],
    }  # fmt: skip


def owners(place: str, answers: Sequence[Owners]) -> Json:
    return {"place": place, "owners": [_owners(answer) for answer in answers]}


def _owners(answer: Owners) -> Json:
    """Return the stable JSON form of whom to ask; times are dates, `last` is null without a recorded commit."""
    return {
        "place": answer.place,
        "rules": [rule._asdict() for rule in answer.rules],
        "commits": answer.commits,
        "authors": [
            {"name": author.name, "commits": author.commits, "share": round(author.share, 3), "last": day(author.last)}
            for author in answer.authors
        ],
        "last": answer.last and {**answer.last._asdict(), "time": day(answer.last.time)},
        "of_file": answer.of_file,
    }


def explanation(explained: Explanation) -> Json:
    return {
        **item(explained.item), "rank": explained.rank, "score": explained.score, "best": explained.best, "lost": explained.lost,
        "channels": explained.channels, "matched": explained.matched, "uses": explained.uses,
        "factors": explained.factors, "additions": explained.additions, "parts": explained.parts,
        "multipliers": explained.multipliers, "boosts": explained.boosts, "scale": explained.scale, "ranker": explained.ranker,
        "words": [dataclasses.asdict(word) for word in explained.words],
        "walk_edges": [dataclasses.asdict(edge) for edge in explained.walk_edges],
        "observed": explained.observed,
    }  # fmt: skip


def why(task: str, profile: str, explanations: Sequence[Explanation]) -> Json:
    return {"task": task, "profile": profile, "explanations": [explanation(explained) for explained in explanations]}


def search(query: str, settings: SearchSettings, state: Json, results: SearchResults, explain: bool = False) -> Json:
    """Return the results of a search; `explain` adds the contributions to each score, as log odds.

    `state` is that of the index (`index_state`).
    """
    components = {"chunker": settings.chunker, "embedder": settings.embedder, "reranker": settings.reranker}
    return {
        "query": query,
        **components,
        **state,
        **({"notes": list(results.notes)} if results.notes else {}),
        "results": [_search_result(rank, result, explain) for rank, result in enumerate(results, 1)],
    }


def _search_result(rank: int, result: SearchHit, explain: bool) -> Json:
    """Return the stable JSON form of a search result; empty optional keys are left out."""
    contributions = {name: round(amount, 4) for name, amount in result.contributions.items()} if explain else {}
    fields = {
        "rank": rank, "id": result.id, "kind": result.kind, "path": result.path, "language": result.language,
        "start": result.start, "end": result.end, "page": result.page, "headings": list(result.headings),
        "symbol": result.symbol, "citation": result.place,
        "score": round(result.score, 6), "lexical": round(result.lexical, 6), "vector": None if isnan(result.vector) else round(result.vector, 6),
        "text": result.text, "matches": [_match(match) for match in result.matches], "also": list(result.also),
        "contributions": contributions, "repository": result.repository,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value or name not in _OPTIONAL}


def _match(match: Match) -> Json:
    line = {"line": match.line} if match.line else {}
    return {**line, "columns": [list(span) for span in match.spans], "text": match.text}


def ask(reply: Reply, state: Json) -> Json:
    from assay.answer.reply import as_json

    return as_json(reply) | state


def index_state(repo: Repository, fresh: bool | None = None) -> Json:
    """Return whether the index is fresh, and what it does not have yet, if anything."""
    pending = repo.pending
    state: Json = {"fresh": repo.freshness().fresh if fresh is None else fresh}
    return state | ({"pending": pending} if pending else {})


def per_repository(repo: Repository, describe: Callable[[Repository], Json]) -> Json:
    """Apply a function to a repository, or to each member of a workspace as a list under `repositories`."""
    if "" in repo.members:
        return describe(repo)
    rows = [{"repository": label, **describe(member)} for label, member in repo.members.items()]
    return {"repositories": rows, "ignored_settings": repo.ignored_settings}


def status(repo: Repository) -> Json:
    fresh = repo.freshness()
    return {
        "root": str(repo.root),
        **dataclasses.asdict(repo.status()),
        "fresh": fresh.fresh,
        "stale": fresh.stale,
        "stage": repo.index.generation.stage,
        "pending": repo.pending,
        "warnings": repo.look().found.warnings,
        "ignored_settings": repo.ignored_settings,
    }
