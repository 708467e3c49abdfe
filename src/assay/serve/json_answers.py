"""Answers as JSON, the same from every surface: what `--format json` prints is what the server sends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from assay.api import Repository
from assay.core.items import Item
from assay.rank.impact import Affected

if TYPE_CHECKING:
    from assay.answer.reply import Reply
    from assay.config.configuration import SearchSettings
    from assay.rank.explain import Explanation
    from assay.search.search import Found

Json = dict[str, Any]

_OPTIONAL = ("page", "headings", "symbol", "vector", "repository")  # of a result of a search


def item(one: Item) -> Json:
    """The stable form of an item."""
    told = {
        "id": one.id, "symbol": one.symbol, "kind": one.kind, "path": one.path, "start": one.start, "end": one.end,
        "signature": one.signature, "doc": one.doc, "test": one.test,
    }  # fmt: skip
    return told | ({"repository": one.repository} if one.repository else {})


def symbols(pattern: str, found: Sequence[Item], limit: int) -> Json:
    return {"pattern": pattern, "total": len(found), "symbols": [item(one) for one in found[:limit]]}


def affected(one: Affected) -> Json:
    return {
        **item(one.item), "depth": one.depth, "confidence": one.confidence,
        "edge": one.edge, "through": one.through, "line": one.line,
    }  # fmt: skip


def impact(changed: Sequence[Item], found: Sequence[Affected], limit: int) -> Json:
    return {
        "symbols": [item(one) for one in changed],
        "total": len(found),
        "affected": [affected(one) for one in found[:limit]],
    }


def explanation(one: Explanation) -> Json:
    return {
        **item(one.item), "rank": one.rank, "score": one.score, "best": one.best, "lost": one.lost, "channels": one.channels,
        "factors": one.factors, "pointed": one.pointed, "shared": one.shared, "parts": one.parts, "times": one.times, "ranker": one.ranker,
        "words": [dataclasses.asdict(word) for word in one.words], "walk": [dataclasses.asdict(way) for way in one.ways],
    }  # fmt: skip


def why(task: str, profile: str, told: Sequence[Explanation]) -> Json:
    return {"task": task, "profile": profile, "explanations": [explanation(one) for one in told]}


def search(query: str, settings: SearchSettings, fresh: bool, found: Sequence[Found]) -> Json:
    used = {"chunker": settings.chunker, "embedder": settings.embedder, "reranker": settings.reranker}
    return {"query": query, **used, "fresh": fresh, "results": [_found(rank, one) for rank, one in enumerate(found, 1)]}


def _found(rank: int, one: Found) -> Json:
    """The stable form of a result; what it does not have is absent."""
    told = {
        "rank": rank, "id": one.id, "kind": one.kind, "path": one.path, "language": one.language, "start": one.start, "end": one.end,
        "page": one.page, "headings": list(one.headings), "symbol": one.symbol, "citation": one.place,
        "score": round(one.score, 6), "lexical": round(one.lexical, 6), "vector": None if isnan(one.vector) else round(one.vector, 6),
        "text": one.text, "repository": one.repository,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value or name not in _OPTIONAL}


def ask(reply: Reply, fresh: bool) -> Json:
    from assay.answer.reply import as_json

    return as_json(reply) | {"fresh": fresh}


def each(repo: Repository, told: Callable[[Repository], Json]) -> Json:
    """What there is to tell of a repository; of several, a list."""
    if "" in repo.members:
        return told(repo)
    rows = [{"repository": label, **told(one)} for label, one in repo.members.items()]
    return {"repositories": rows, "ignored_settings": repo.ignored_settings}


def status(repo: Repository) -> Json:
    fresh = repo.freshness()
    return {
        "root": str(repo.root),
        **dataclasses.asdict(repo.status()),
        "fresh": fresh.fresh,
        "stale": fresh.stale,
        "warnings": repo.look().found.warnings,
        "ignored_settings": repo.ignored_settings,
    }
