"""Code view: ranked symbols of a task, a "why not" form, and result details: source, explanation, neighbourhood."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Item
from assay.html.elements import Child, Markup, decimal, element, figure, join
from assay.html.plots import CHARACTER, WIDTH, label, svg
from assay.pack.render.form import doubt, percent
from assay.rank.confidence import confidence, unseen_words
from assay.rank.explain import Explanation, Step, contributions, direct_steps, explain, score_steps
from assay.rank.neighbourhood import Neighbour, Neighbourhood, Node, neighbourhood
from assay.rank.ranking import Ranking
from assay.rank.signals.signal import COMPONENTS
from assay.rank.symbols import NoSuchSymbol
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.shell import absent, empty, freshness_badge, took
from assay.text.display import clipped, counted

_MAX_RESULTS = 20  # results on a page


def ranked(bench: Bench, task: str, profile: str | None, expected: str) -> Markup:
    """Render the results of a task and the "why not" form."""
    with bench.using() as repo:
        started = time.perf_counter()
        cache_key = ("results", task, profile)
        count, confidence_badge, colours, rows = bench.remembered(
            repo, cache_key, lambda: _render_results(repo, task, profile)
        )
        elapsed = time.perf_counter() - started
        summary = element("p", element("strong", count), took(elapsed), freshness_badge(repo), confidence_badge)
        results = join([element("div", summary, colours, class_="summary"), rows])
        return join([absent(bench, repo), results if colours else rows, _render_why_not(repo, task, profile, expected)])


def _render_results(repo: Repository, task: str, profile: str | None) -> tuple[str, Markup, Markup, Markup]:
    """Return count, confidence, legend and results; the legend is empty if there are no results."""
    ranking = repo.ranking(task, profile=profile)
    explanations = _explain_top(repo, ranking, profile)
    if not explanations:
        nothing = "No word of the task occurs in the index. Try other words, or a name."
        return "", Markup(), Markup(), empty("Nothing found", nothing)
    components = [
        name for name in COMPONENTS if any(name in contributions(explanation) for explanation in explanations)
    ]
    rows = [
        _render_result(rank, explanation, explanations[0].score, task, profile)
        for rank, explanation in enumerate(explanations, 1)
    ]
    results = element("ol", rows, class_="results", id="results")
    return counted(len(explanations), "result"), _render_confidence(repo, ranking, profile), legend(components), results


def _render_confidence(repo: Repository, ranking: Ranking, profile: str | None) -> Markup:
    """Render the confidence badge, with hints if it is low; empty if there is no estimate."""
    probability = confidence(ranking, repo.configuration.profile(profile))
    if probability is None:
        return Markup()
    confident = probability >= repo.configuration.context.threshold
    unmatched = unseen_words(ranking)
    missing = f"No definition here mentions {', '.join(unmatched)}. " if unmatched else ""
    hint = f" {doubt(probability).capitalize()} not here, or worded differently. {missing}Try other words, or a name from the code."
    badge = element(
        "span",
        f"{percent(probability)} sure",
        class_=f"badge kind-{'win' if confident else 'loss'}",
        title="Estimated probability that one of the first five is right",
    )
    return join([" · ", badge, None if confident else hint])


def _explain_top(repo: Repository, ranking: Ranking, profile: str | None) -> Sequence[Explanation]:
    """Return explanations of the top results of one ranking."""
    engine = repo.engine(profile)
    best = ranking.best(_MAX_RESULTS)
    items = repo.index.numbered(best)
    return explain(engine, ranking, [items[number] for number in best], _MAX_RESULTS)


def _render_result(rank: int, explanation: Explanation, top_score: float, task: str, profile: str | None) -> Markup:
    item = explanation.item
    parameters = {"task": task, "id": item.id} | ({"profile": profile} if profile else {})
    head = element(
        "summary",
        element("span", rank, class_="rank"),
        element("span", element("code", item.symbol or item.path, class_="symbol"), " ", _kind(item), class_="name"),
        element("span", element("bdi", item.path), f":{item.start}", class_="place"),
        element("span", decimal(explanation.score), class_="score", title="score"),
        stacked(contributions(explanation), top_score),
    )
    own_page = element(
        "p", element("a", "Open on a page of its own", href=f"/result?{urlencode(parameters)}"), class_="alone"
    )
    body = element("div", own_page, class_="opened", data_source=f"/result-part?{urlencode(parameters)}")
    return element("li", element("details", head, body))


def _kind(item: Item) -> Markup:
    return element("span", item.kind, class_="kind")


def _render_why_not(repo: Repository, task: str, profile: str | None, expected: str) -> Markup:
    """Render the form that explains an expected symbol, with its answer."""
    form = element(
        "form",
        element("input", type="hidden", name="task", value=task),
        element("input", type="hidden", name="profile", value=profile) if profile else None,
        element("label", "Expected something else? Why not ", for_="why"),
        element(
            "input", id="why", name="why", value=expected, required=True, placeholder="Class.method", maxlength=500
        ),
        element("button", "Explain", type="submit"),
        action="/#why-not",
        method="get",
    )
    answer = _render_why(repo, task, profile, expected) if expected else None
    return element("section", element("h2", "Why not …?"), form, answer, id="why-not", class_="why-not")


def _render_why(repo: Repository, task: str, profile: str | None, expected: str) -> Markup:
    try:
        explanations = repo.why(task, expected, _MAX_RESULTS, profile=profile)
    except NoSuchSymbol as error:
        near = [
            element(
                "li", element("a", element("code", name), href=f"/?{urlencode({'task': task, 'why': name})}#why-not")
            )
            for name in error.near
        ]
        return element(
            "div", element("p", f"There is no symbol called {expected}."), element("ul", near, class_="near")
        )
    more = (
        element("p", f"… and {len(explanations) - 3} more of that name", class_="note")
        if len(explanations) > 3
        else None
    )
    return element("div", [render_explanation(explanation, wanted=True) for explanation in explanations[:3]], more)


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
    centre = element("circle", element("title", around.node.name), cx=WIDTH / 2, cy=middle, r=9, class_="own")
    no_neighbours = (
        label("no neighbours in the repository", WIDTH / 2, middle - 18, "middle") if not (left or right) else None
    )
    name = f"{around.node.name}: {len(around.sources)} incoming and {len(around.targets)} outgoing neighbours"
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
    rank = ranks.get(neighbour.node.number)
    relation = (
        f"{neighbour.edge.replace('_', ' ')}, confidence {decimal(neighbour.confidence, 2)}, line {neighbour.line}"
    )
    title = "\n".join(filter(None, [neighbour.node.id, relation, neighbour.detail, f"result {rank}" if rank else ""]))
    box_elements = [
        element("rect", x=x, y=y - _BOX_HEIGHT / 2, width=_BOX_WIDTH, height=_BOX_HEIGHT, rx=5, class_="node"),
        label(_short_name(neighbour.node), x + _PADDING, y + 4),
    ]
    address = f"/result?{urlencode({'task': task, 'id': neighbour.node.id})}" if neighbour.node.number else ""
    return element(
        "g",
        element("title", title),
        element("path", d=path, class_="edge"),
        element("a", box_elements, href=address) if address else box_elements,
        class_=f"neighbour {edge_class(neighbour.edge)}" + (" ranked" if rank else ""),
    )


def edge_class(edge: str) -> str:
    """Return the CSS class of an edge type."""
    return f"edge-{edge.replace('_', '-')}"


def _short_name(node: Node) -> str:
    """Shorten a name to its last part if it does not fit into the box."""
    max_characters = int((_BOX_WIDTH - 2 * _PADDING) / CHARACTER)
    name = node.name.rpartition("/")[2] if node.kind == "file" else node.name
    if len(name) <= max_characters:
        return name
    if not node.number:
        return clipped(name, max_characters)
    last = name.replace("::", ".").rpartition(".")[2]
    return clipped(last, max_characters)


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
        declared = "\n".join(filter(None, (item.signature, item.doc)))
        signature = element("pre", element("code", declared), class_="code")
        return join([title, element("p", note, class_="note"), signature])
    lines = text.split("\n")
    rows = [
        element("span", line or " ", class_="line", data_number=number)
        for number, line in enumerate(lines[:_MAX_LINES], item.start)
    ]
    hidden = len(lines) - _MAX_LINES
    more = element("p", f"… and {counted(hidden, 'more line', 'more lines')}", class_="note") if hidden > 0 else None
    return join([title, element("pre", element("code", rows), class_="code", tabindex="0"), more])


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
        element("p", f"In traces: {explanation.observed}.") if explanation.observed else None,
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
