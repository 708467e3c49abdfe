"""One result opened: the code in place, why it stands where it stands, and its neighbourhood."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.core.items import Item
from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.overview import figure
from assay.evaluate.report.wording import decimal
from assay.repository import Repository
from assay.retrieve.contributions import contributions
from assay.retrieve.explain import Explanation, explain
from assay.retrieve.explained import FACTORS, PARTS, TIMES, learned
from assay.retrieve.neighbourhood import Neighbourhood, neighbourhood
from assay.serve.bench import NotFound
from assay.serve.pages.bars import stacked
from assay.serve.pages.neighbourhood import drawn, edge_class
from assay.text.counting import counted

_MOST_LINES = 120  # of code in a result; the rest is one click away in an editor
_TOLD = 0.005  # a factor nearer to 1 than this is not worth a line
_AMONG = 20  # results that count as the answer


def opened(repo: Repository, task: str, id: str, profile: str | None) -> Markup:
    """The code, the explanation and the graph of one item. Raises NotFound for what is not in the index."""
    item = repo.index.by_id(id)
    if item is None:
        raise NotFound("there is no such symbol in the index (any more)")
    engine = repo.engine(profile)
    ranking = engine.rank(task, repo.learned(task))
    found = {number: rank for rank, number in enumerate(ranking.best(_AMONG), 1)}
    around = neighbourhood(repo.index, item)
    graph = figure(
        "Neighbourhood",
        f"{counted(around.source_total, 'item leads', 'items lead')} to it, it leads to {around.target_total}. "
        "Filled ones are results, too.",
        join([drawn(around, found, task), _edge_key(around)]),
    )
    return element(
        "div",
        element("div", _code(repo, item), class_="source"),
        element("div", graph, [explained(one) for one in explain(engine, ranking, [item], _AMONG)], class_="reasons"),
        class_="detail",
    )


def _edge_key(around: Neighbourhood) -> Markup | None:
    """Which colour is which relation."""
    edges = dict.fromkeys(one.edge for one in (*around.sources, *around.targets))
    items = [
        element("li", element("span", class_=f"swatch {edge_class(edge)}"), edge.replace("_", " ")) for edge in edges
    ]
    return element("ul", items, class_="components", aria_label="Relations") if items else None


def _code(repo: Repository, item: Item) -> Markup:
    """The item's lines with their numbers; only what is in the index is ever read, and only as it was indexed."""
    title = element("h3", element("code", f"{item.path}:{item.start}–{item.end}"))
    source = repo.source
    text = source.text(item)
    if not text:
        note = source.note(item) or "nothing to show"
        return join([title, element("p", note, class_="note"), _signature(item)])
    lines = text.split("\n")
    rows = [
        element("span", line or " ", class_="line", data_number=number)
        for number, line in enumerate(lines[:_MOST_LINES], item.start)
    ]
    hidden = len(lines) - _MOST_LINES
    more = element("p", f"… and {counted(hidden, 'more line', 'more lines')}", class_="note") if hidden > 0 else None
    return join([title, element("pre", element("code", rows), class_="code", tabindex="0"), more])


def _signature(item: Item) -> Markup:
    return element("pre", element("code", "\n".join(filter(None, (item.signature, item.doc)))), class_="code")


def explained(one: Explanation, wanted: bool = False) -> Markup:
    """Why an item stands where it stands; `wanted` names it, too."""
    item = one.item
    place = (
        f"Rank {one.rank}, score {decimal(one.score)}; the best has {decimal(one.best)}." if one.rank else "Not ranked."
    )
    name = element("p", element("code", item.symbol or item.path), f" {item.path}:{item.start}") if wanted else None
    return element(
        "div",
        element("h3", "Why") if not wanted else None,
        name,
        element("p", place, element("strong", f" Lost: {one.lost}.") if one.lost else None),
        stacked(contributions(one), one.best) if one.score > 0 else None,
        element("dl", list(_reasons(one)), class_="reasons-list"),
        class_="explanation",
    )


def _reasons(one: Explanation) -> Iterator[Markup]:
    for word in one.words:
        fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
        yield _reason(
            f"+ {decimal(word.score, 2)}", element("code", word.term), f" in {fields}; rarity {word.rarity:.1f}"
        )
    for name, value in one.factors.items():
        if one.words and name != "lexical" and abs(value - 1) >= _TOLD:
            yield _reason(f"× {decimal(value, 2)}", f"{name}: {FACTORS.get(name, '')}")
    if one.pointed:
        yield _reason(f"+ {decimal(one.pointed, 2)}", "the task points at it")
    if one.shared:
        yield _reason(f"+ {decimal(one.shared, 2)}", "from what contains it and what it contains")
    if one.factors:
        whole = math.prod(one.factors.values()) + one.pointed + one.shared
        yield _reason(f"= {decimal(whole, 2)}", element("strong", "direct"))
    for name, value in one.parts.items():
        if value:
            yield _reason(f"+ {decimal(value)}", f"{name}: {PARTS.get(name, '')}")
    for name, value in one.times.items():
        if abs(value - 1) >= _TOLD:
            yield _reason(f"× {decimal(value)}", f"{name}: {TIMES.get(name, '')}")
        if name == "ranker":
            yield from (_reason(f"{worth:+.2f}", told) for told, worth in learned(one))
    if one.factors:
        yield _reason(f"= {decimal(one.score)}", element("strong", "score"))
    for way in one.ways:
        edge = way.edge.replace("_", " ")
        yield _reason(f"{way.share:.0%}", "the walk came by ", _named(way.source), f", {edge} it")


def _named(id: str) -> Markup:
    """An item by the part of its id that tells most; the rest is a tooltip away."""
    return element("code", id.partition("::")[2] or id, title=id)


def _reason(amount: str, *about: Child) -> Markup:
    return element("div", element("dt", amount), element("dd", *about))
