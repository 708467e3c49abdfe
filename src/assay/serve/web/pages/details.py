"""Result details: source code, score explanation, and the neighbourhood graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Item
from assay.html.elements import Child, Markup, decimal, element, figure, join, shortened
from assay.html.plots import CHARACTER, WIDTH, label, svg
from assay.rank.explain import Explanation, Step, contributions, direct_steps, explain, score_steps
from assay.rank.impact import Neighbour, Neighbourhood, neighbourhood
from assay.rank.signals.signal import COMPONENTS
from assay.serve.web.bench import NotFound
from assay.text.display import counted

_BAR_WIDTH, _BAR_HEIGHT = 300, 8


def stacked(amounts: Mapping[str, float], longest: float) -> Markup:
    """Render a stacked bar of amounts by component; `longest` is the full width."""
    parts, offset = [], 0.0
    scale = _BAR_WIDTH / longest if longest > 0 else 0.0
    for name in COMPONENTS:
        width = amounts.get(name, 0.0) * scale
        if width >= 0.1:
            title = element("title", f"{name}: {decimal(amounts[name])} – {COMPONENTS[name]}")
            parts.append(
                element(
                    "rect",
                    title,
                    x=round(offset, 1),
                    y=0,
                    width=round(width, 1),
                    height=_BAR_HEIGHT,
                    class_=_class(name),
                )
            )
            offset += width
    amounts_text = ", ".join(f"{name} {decimal(amounts[name])}" for name in COMPONENTS if name in amounts)
    return element(
        "svg",
        element("rect", x=0, y=0, width=_BAR_WIDTH, height=_BAR_HEIGHT, class_="track"),
        parts,
        viewBox=f"0 0 {_BAR_WIDTH} {_BAR_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"score components: {amounts_text}",
        class_="stacked",
    )


def legend(names: Sequence[str]) -> Markup:
    items = [
        element("li", element("span", class_=f"swatch {_class(name)}"), name, title=COMPONENTS[name]) for name in names
    ]
    return element("ul", items, class_="components", aria_label="Score components")


def _class(name: str) -> str:
    return f"component-{name.replace(' ', '-')}"


# Neighbourhood graph: incoming edges on the left, outgoing ones on the right

_BOX_WIDTH = 128  # of a neighbour
_BOX_HEIGHT, _ROW = 22, 34  # pixels
_PADDING = 8
_HEAD = 26  # height of the side titles


def render_neighbourhood(around: Neighbourhood, ranks: Mapping[int, int], task: str) -> Markup:
    """Render the graph; neighbours in `ranks` (item number → rank) are highlighted."""
    rows = max(len(around.sources), len(around.targets), 1)
    height = _HEAD + rows * _ROW + 4
    middle = _HEAD + rows * _ROW / 2
    left = [
        _render_neighbour(neighbour, row, len(around.sources), rows, False, ranks, task)
        for row, neighbour in enumerate(around.sources)
    ]
    right = [
        _render_neighbour(neighbour, row, len(around.targets), rows, True, ranks, task)
        for row, neighbour in enumerate(around.targets)
    ]
    titles = [
        label(f"incoming ({around.source_total})", 0, 12),
        label(f"outgoing ({around.target_total})", WIDTH, 12, "end"),
    ]
    centre = element(
        "circle", element("title", around.item.symbol or around.item.path), cx=WIDTH / 2, cy=middle, r=9, class_="own"
    )
    no_neighbours = (
        label("no neighbours in the repository", WIDTH / 2, middle - 18, "middle") if not (left or right) else None
    )
    name = f"{around.item.symbol}: {len(around.sources)} incoming and {len(around.targets)} outgoing neighbours"
    return svg(height, name, titles, left, right, centre, no_neighbours)


def _render_neighbour(
    neighbour: Neighbour, row: int, count: int, rows: int, right: bool, ranks: Mapping[int, int], task: str
) -> Markup:
    """Render a neighbour's box with its edge to the centre."""
    y = _HEAD + (rows - count) * _ROW / 2 + row * _ROW + _ROW / 2
    x = WIDTH - _BOX_WIDTH if right else 0
    start, end = (WIDTH / 2 + 9, x) if right else (_BOX_WIDTH, WIDTH / 2 - 9)
    middle = _HEAD + rows * _ROW / 2
    start_y, end_y = (middle, y) if right else (y, middle)
    bend = (start + end) / 2
    path = f"M{start:g} {start_y:g}C{bend:g} {start_y:g} {bend:g} {end_y:g} {end:g} {end_y:g}"
    rank = ranks.get(neighbour.item.number)
    relation = (
        f"{neighbour.edge.replace('_', ' ')}, confidence {decimal(neighbour.confidence, 2)}, line {neighbour.line}"
    )
    title = f"{neighbour.item.id}\n{relation}" + (f"\nresult {rank}" if rank else "")
    box_elements = [
        element("rect", x=x, y=y - _BOX_HEIGHT / 2, width=_BOX_WIDTH, height=_BOX_HEIGHT, rx=5, class_="node"),
        label(_short_name(neighbour.item), x + _PADDING, y + 4),
    ]
    address = f"/result?{urlencode({'task': task, 'id': neighbour.item.id})}"
    return element(
        "g",
        element("title", title),
        element("path", d=path, class_="edge"),
        element("a", box_elements, href=address),
        class_=f"neighbour {edge_class(neighbour.edge)}" + (" ranked" if rank else ""),
    )


def edge_class(edge: str) -> str:
    """Return the CSS class of an edge type."""
    return f"edge-{edge.replace('_', '-')}"


def _short_name(item: Item) -> str:
    """Shorten a name to its last part if it does not fit into the box."""
    max_characters = int((_BOX_WIDTH - 2 * _PADDING) / CHARACTER)
    name = item.symbol or item.path.rpartition("/")[2]
    if len(name) <= max_characters:
        return name
    last = name.replace("::", ".").rpartition(".")[2]
    return shortened(last, max_characters)


# Result details

_MAX_LINES = 120  # of code in a result
_ANSWER_SIZE = 20  # results that count as the answer


def opened(repo: Repository, task: str, id: str, profile: str | None) -> Markup:
    """Render code, graph and explanation of an item. Raises NotFound if it is not in the index."""
    item = repo.index.by_id(id)
    if item is None:
        raise NotFound("no such symbol in the index; it may have been removed")
    engine = repo.engine(profile)
    ranking = engine.rank(task, repo.learned(task))
    ranks = {number: rank for rank, number in enumerate(ranking.best(_ANSWER_SIZE), 1)}
    neighbours = neighbourhood(repo.index, item)
    graph = figure(
        "Neighbourhood",
        f"{neighbours.source_total} incoming, {neighbours.target_total} outgoing edges. Filled boxes are results, too.",
        join([render_neighbourhood(neighbours, ranks, task), _edge_legend(neighbours)]),
    )
    return element(
        "div",
        element("div", _render_code(repo, item), class_="source"),
        element(
            "div",
            graph,
            [render_explanation(explanation) for explanation in explain(engine, ranking, [item], _ANSWER_SIZE)],
            class_="reasons",
        ),
        class_="detail",
    )


def _edge_legend(around: Neighbourhood) -> Markup | None:
    """Render the legend of edge types; None without edges."""
    edges = dict.fromkeys(neighbour.edge for neighbour in (*around.sources, *around.targets))
    items = [
        element("li", element("span", class_=f"swatch {edge_class(edge)}"), edge.replace("_", " ")) for edge in edges
    ]
    return element("ul", items, class_="components", aria_label="Relations") if items else None


def _render_code(repo: Repository, item: Item) -> Markup:
    """Render the numbered lines of an item. Only indexed files are read, and shown only if unchanged since."""
    title = element("h3", element("code", f"{item.path}:{item.start}–{item.end}"))
    source = repo.source
    text = source.text(item)
    if not text:
        note = source.note(item) or "no source text"
        return join([title, element("p", note, class_="note"), _render_signature(item)])
    lines = text.split("\n")
    rows = [
        element("span", line or " ", class_="line", data_number=number)
        for number, line in enumerate(lines[:_MAX_LINES], item.start)
    ]
    hidden = len(lines) - _MAX_LINES
    more = element("p", f"… and {counted(hidden, 'more line', 'more lines')}", class_="note") if hidden > 0 else None
    return join([title, element("pre", element("code", rows), class_="code", tabindex="0"), more])


def _render_signature(item: Item) -> Markup:
    return element("pre", element("code", "\n".join(filter(None, (item.signature, item.doc)))), class_="code")


def render_explanation(explanation: Explanation, wanted: bool = False) -> Markup:
    """Render the score explanation of an item; `wanted` adds its name."""
    item = explanation.item
    position = (
        f"Rank {explanation.rank}, score {decimal(explanation.score)}; top result {decimal(explanation.best)}."
        if explanation.rank
        else "Not ranked."
    )
    name = element("p", element("code", item.symbol or item.path), f" {item.path}:{item.start}") if wanted else None
    return element(
        "div",
        element("h3", "Why") if not wanted else None,
        name,
        element("p", position, element("strong", f" Dropped: {explanation.lost}.") if explanation.lost else None),
        stacked(contributions(explanation), explanation.best) if explanation.score > 0 else None,
        element("dl", list(_render_reasons(explanation)), class_="reasons-list"),
        class_="explanation",
    )


def _render_reasons(explanation: Explanation) -> Iterator[Markup]:
    for word in explanation.words:
        fields = ", ".join(f"{name} {count}" for name, count in word.fields.items())
        yield _render_reason(
            f"+ {decimal(word.score, 2)}", element("code", word.term), f" in {fields}; rarity {word.rarity:.1f}"
        )
    if explanation.factors:
        yield from (_render_step(step, 2) for step in direct_steps(explanation))
        yield from (_render_step(step, 3) for step in score_steps(explanation))
    for walked in explanation.walk_edges:
        edge = walked.edge.replace("_", " ")
        yield _render_reason(f"{walked.share:.0%}", "graph walk: ", _render_id(walked.source), f" {edge} it")


def _render_step(step: Step, digits: int) -> Markup:
    amount = f"{step.sign} {decimal(step.value, digits)}" if step.sign else f"{step.value:+.2f}"
    return _render_reason(amount, element("strong", step.text) if step.sign == "=" else step.text)


def _render_id(id: str) -> Markup:
    """Render an id as its symbol part, with the full id as a tooltip."""
    return element("code", id.partition("::")[2] or id, title=id)


def _render_reason(amount: str, *about: Child) -> Markup:
    return element("div", element("dt", amount), element("dd", *about))
