"""One result opened: the code in place, why it stands where it stands, and its neighbourhood."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Item
from assay.evaluate.report.overview import figure
from assay.html.elements import Child, Markup, decimal, element, join, shortened
from assay.html.plots import CHARACTER, WIDTH, label, svg
from assay.rank.explain import COMPONENTS, FACTORS, PARTS, TIMES, Explanation, contributions, explain, learned
from assay.rank.impact import Neighbour, Neighbourhood, neighbourhood
from assay.serve.web.bench import NotFound
from assay.text.display import counted

_WIDTH, _HEIGHT = 300, 8


def stacked(amounts: Mapping[str, float], longest: float) -> Markup:
    """One bar: amounts by component, on a scale whose end is `longest`."""
    parts, left = [], 0.0
    scale = _WIDTH / longest if longest > 0 else 0.0
    for name in COMPONENTS:
        width = amounts.get(name, 0.0) * scale
        if width >= 0.1:
            title = element("title", f"{name}: {decimal(amounts[name])} – {COMPONENTS[name]}")
            parts.append(
                element(
                    "rect", title, x=round(left, 1), y=0, width=round(width, 1), height=_HEIGHT, class_=_class(name)
                )
            )
            left += width
    told = ", ".join(f"{name} {decimal(amounts[name])}" for name in COMPONENTS if name in amounts)
    return element(
        "svg",
        element("rect", x=0, y=0, width=_WIDTH, height=_HEIGHT, class_="track"),
        parts,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"made of {told}",
        class_="stacked",
    )


def legend(names: Sequence[str]) -> Markup:
    items = [
        element("li", element("span", class_=f"swatch {_class(name)}"), name, title=COMPONENTS[name]) for name in names
    ]
    return element("ul", items, class_="components", aria_label="What scores are made of")


def _class(name: str) -> str:
    return f"component-{name.replace(' ', '-')}"


# The neighbourhood of an item as a small graph: what leads to it on the left, what it leads to on the right.

_BOX = 128  # width of a neighbour's box
_TALL, _ROW = 22, 34  # height of a box, and of a row
_PADDING = 8
_HEAD = 26  # above the rows, for the titles of the sides
_CENTRE = 24  # height of the middle box, which stands between the rows


def drawn(around: Neighbourhood, ranks: Mapping[int, int], task: str) -> Markup:
    """`ranks` has the results by number: neighbours among them stand out."""
    rows = max(len(around.sources), len(around.targets), 1)
    height = _HEAD + rows * _ROW + 4
    middle = _HEAD + rows * _ROW / 2
    left = [
        _side(one, place, len(around.sources), rows, False, ranks, task) for place, one in enumerate(around.sources)
    ]
    right = [
        _side(one, place, len(around.targets), rows, True, ranks, task) for place, one in enumerate(around.targets)
    ]
    titles = [
        label(f"leads to it ({around.source_total})", 0, 12),
        label(f"it leads to ({around.target_total})", WIDTH, 12, "end"),
    ]
    own = element(
        "circle", element("title", around.item.symbol or around.item.path), cx=WIDTH / 2, cy=middle, r=9, class_="own"
    )
    nothing = label("nothing in the repository", WIDTH / 2, middle - 18, "middle") if not (left or right) else None
    name = f"{around.item.symbol}: {len(around.sources)} items lead to it, it leads to {len(around.targets)}"
    return svg(height, name, titles, left, right, own, nothing)


def _side(
    one: Neighbour, place: int, number: int, rows: int, right: bool, ranks: Mapping[int, int], task: str
) -> Markup:
    """A neighbour's box with the line to the middle."""
    y = _HEAD + (rows - number) * _ROW / 2 + place * _ROW + _ROW / 2
    x = WIDTH - _BOX if right else 0
    start, end = (WIDTH / 2 + 9, x) if right else (_BOX, WIDTH / 2 - 9)
    middle = _HEAD + rows * _ROW / 2
    first, last = (middle, y) if right else (y, middle)
    bend = (start + end) / 2
    path = f"M{start:g} {first:g}C{bend:g} {first:g} {bend:g} {last:g} {end:g} {last:g}"
    rank = ranks.get(one.item.number)
    told = f"{one.edge.replace('_', ' ')}, confidence {decimal(one.confidence, 2)}, line {one.line}"
    title = f"{one.item.id}\n{told}" + (f"\nresult {rank}" if rank else "")
    box = [
        element("rect", x=x, y=y - _TALL / 2, width=_BOX, height=_TALL, rx=5, class_="node"),
        label(_short(one.item), x + _PADDING, y + 4),
    ]
    address = f"/result?{urlencode({'task': task, 'id': one.item.id})}"
    return element(
        "g",
        element("title", title),
        element("path", d=path, class_="edge"),
        element("a", box, href=address),
        class_=f"neighbour {edge_class(one.edge)}" + (" ranked" if rank else ""),
    )


def edge_class(edge: str) -> str:
    """The class that colours a relation."""
    return f"edge-{edge.replace('_', '-')}"


def _short(item: Item) -> str:
    """As much of the end of a name as fits: the last parts tell most."""
    room = int((_BOX - 2 * _PADDING) / CHARACTER)
    name = item.symbol or item.path.rpartition("/")[2]
    if len(name) <= room:
        return name
    last = name.replace("::", ".").rpartition(".")[2]
    return shortened(last, room)


# One result opened: the code in place, why it stands where it stands, and its neighbourhood.

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
