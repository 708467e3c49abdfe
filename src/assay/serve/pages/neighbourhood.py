"""The neighbourhood of an item as a small graph: what leads to it on the left, what it leads to on the right."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from assay.core.items import Item
from assay.evaluate.report.drawing import CHARACTER, WIDTH, label, svg
from assay.evaluate.report.markup import Markup, element
from assay.evaluate.report.wording import decimal, shortened
from assay.retrieve.neighbourhood import Neighbour, Neighbourhood

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
