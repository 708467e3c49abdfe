"""HTML and SVG built from elements, so that nothing reaches the page unescaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_VOID = frozenset({"meta", "link", "input", "br", "wbr"})
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML, or not in UTF-8


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | int | Iterable[str] | None


def text(value: str) -> Markup:
    """Any text, escaped for content and for quoted attributes alike."""
    return value if isinstance(value, Markup) else Markup(html.escape(_UNPRINTABLE.sub("\ufffd", value)))


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other: strings are escaped, markup is kept, None is nothing."""
    return Markup("".join(_content(child) for child in children))


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """One element. `class_` and `aria_label` become `class` and `aria-label`; None and False leave an attribute out."""
    opening = "".join([tag, *(_attribute(name, value) for name, value in attributes.items())])
    if tag in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{tag}>")


def _content(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, str):
        return text(child)
    return str(child) if isinstance(child, int) else join(child)


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(value) if isinstance(value, str) else f"{value:g}"}"'
