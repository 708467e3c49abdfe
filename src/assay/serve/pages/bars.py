"""Scores as stacked bars: what each component contributed, in a colour of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.evaluate.report.markup import Markup, element
from assay.evaluate.report.wording import decimal
from assay.retrieve.contributions import COMPONENTS

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
