"""HTML and SVG elements that escape their content, number formats, tables, and self-contained documents."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Generic, TypeVar

from assay.text.display import clipped

_VOID = frozenset({"meta", "link", "input", "br", "wbr"})
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # invalid in HTML or UTF-8


class Markup(str):
    """A string that is already HTML."""

    __slots__ = ()


Child = str | int | Iterable[str] | None


def text(value: str) -> Markup:
    """Escape text for content and quoted attributes."""
    return value if isinstance(value, Markup) else Markup(html.escape(_UNPRINTABLE.sub("\ufffd", value)))


def join(children: Iterable[Child]) -> Markup:
    """Concatenate children: strings are escaped, markup is not, None is skipped."""
    return Markup("".join(_content(child) for child in children))


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Build an element. `class_` becomes `class`, `aria_label` `aria-label`; None and False omit an attribute."""
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


# Formatting of numbers, times and long texts

NOTHING = "–"  # shown for null
_MINUS = "−"


def finite_or_none(value: float | int | None) -> float | None:
    """Return the value as a float if it is finite, else None."""
    return float(value) if value is not None and math.isfinite(value) else None


def decimal(value: float | None, places: int = 3) -> str:
    """Format a number: `0.412`, `1,204`, a dash for null. No decimals from 100 on."""
    number = finite_or_none(value)
    if number is None:
        return NOTHING
    places = 0 if abs(number) >= 100 else places
    return f"{number:,.{places}f}".replace("-", _MINUS)


def whole(value: float | None) -> str:
    """Format a count or rank: `1,204`."""
    return decimal(value, 0)


def signed(value: float | None, places: int = 3) -> str:
    """Format a difference with its sign: `+0.030`, `−0.010`, `0.000`."""
    number = finite_or_none(value)
    formatted = decimal(number, places)
    return f"+{formatted}" if number is not None and number > 0 and formatted.strip("0.,") else formatted


def probability(value: float | None) -> str:
    """Format a p value; below 0.001 as `< 0.001`, as a test cannot yield zero."""
    number = finite_or_none(value)
    if number is None:
        return NOTHING
    return "< 0.001" if number < 0.001 else decimal(number)


def milliseconds(value: float | None) -> str:
    """Format a duration in ms: `3.1 ms`, `240 ms`, `1.20 s`."""
    number = finite_or_none(value)
    if number is None:
        return NOTHING
    if number >= 1000:
        return f"{decimal(number / 1000, 2)} s"
    return f"{decimal(number, 1 if number < 100 else 0)} ms"


def exact(value: float | int | None, shown: str) -> Markup:
    """Render text with its exact value as an attribute, for scripts and sorting."""
    number = finite_or_none(value)
    return element("data", shown, value="" if number is None else repr(value))


def time_element(created: str) -> Markup:
    """Render an ISO 8601 time stamp in UTC; other text unchanged."""
    try:
        time = datetime.fromisoformat(created)
    except ValueError:
        return element("span", created)
    if time.tzinfo is not None:
        time = time.astimezone(UTC)
    shown = f"{time.day} {time:%B %Y, %H:%M}{' UTC' if time.tzinfo else ''}"
    return element("time", shown, datetime=created)


# Tables and their filters

Row = TypeVar("Row")

_MOST_ROWS = 1000
_MOST_BYTES = 1_500_000  # rows of one table; keeps a page under 5 MB


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A heading and its cell renderer; `class_` is number, wide or minor (hidden on a phone)."""

    title: str
    cell: Callable[[Row], Child]
    class_: str = ""
    about: str = ""  # tooltip of the heading


def number_column(
    title: str,
    value: Callable[[Row], float | None],
    about: str = "",
    written: Callable[[float | None], str] = decimal,
    minor: bool = False,
) -> Column[Row]:
    """Build a column of numbers."""
    return Column(
        title, lambda row: exact(value(row), written(value(row))), "number minor" if minor else "number", about
    )


def table(name: str, columns: Sequence[Column[Row]], rows: Iterable[Row], note: Child = None) -> Markup:
    """Render a horizontally scrolling table; the first column is the row header."""
    body = [table_row(columns, row) for row in rows]
    return framed_table(name, columns, body, note)


def framed_table(name: str, columns: Sequence[Column[Row]], body: Sequence[Markup], note: Child = None) -> Markup:
    """Render a table around rendered rows."""
    headings = [
        element("th", column.title, scope="col", class_=column.class_ or None, title=column.about or None)
        for column in columns
    ]
    content = element(
        "table", element("caption", name), element("thead", element("tr", headings)), element("tbody", body)
    )
    footnote = element("p", note, class_="note") if note else None
    return join([element("div", content, class_="frame", role="region", aria_label=name, tabindex="0"), footnote])


def table_row(columns: Sequence[Column[Row]], row: Row, **attributes: str | None) -> Markup:
    """Render a row; filters read the attributes."""
    head, *others = columns
    return element(
        "tr",
        element("th", head.cell(row), scope="row", class_=head.class_ or None),
        [element("td", column.cell(row), class_=column.class_ or None) for column in others],
        **attributes,
    )


def bounded_rows(
    columns: Sequence[Column[Row]], rows: Sequence[Row], attributes: Callable[[Row], dict[str, str | None]]
) -> tuple[list[Markup], str | None]:
    """Render as many rows as a page can hold; return them and a note on how many were left out."""
    rendered: list[Markup] = []
    size = 0
    for row in rows[:_MOST_ROWS]:
        markup = table_row(columns, row, **attributes(row))
        size += len(markup.encode())
        if size > _MOST_BYTES:
            break
        rendered.append(markup)
    if len(rendered) == len(rows):
        return rendered, None
    return (
        rendered,
        f"The first {len(rendered):,} of {len(rows):,} are shown, in this order; the JSON of the run has all.",
    )


def meter(value: float | None, top: float = 1.0) -> Markup:
    """Render a number over a small bar; no bar if it is outside 0…top."""
    number = finite_or_none(value)
    has_bar = number is not None and 0 <= number <= top
    bar = element("span", class_="meter", style=f"--share:{(number or 0) / top:.1%}") if has_bar else None
    return join([exact(value, decimal(value)), bar])


def scale_end(values: Iterable[float | None]) -> float:
    """Return the end of a shared scale: 1, or the largest value if greater."""
    return max([1.0, *(abs(number) for value in values if (number := finite_or_none(value)) is not None)])


def filters(choices: dict[str, list[str]], only: dict[str, str], total: int) -> Markup:
    """Render the controls of a table: search, a choice per attribute, a checkbox per flag.

    Hidden until the script shows them.
    """
    return element(
        "form",
        element("label", "Search ", element("input", type="search", autocomplete="off")),
        [_choice(name, values) for name, values in choices.items() if len(values) > 1],
        [
            element("label", element("input", type="checkbox", name=name, value="yes"), " ", label)
            for name, label in only.items()
        ],
        element("button", "Open all", type="button", class_="open"),
        element("output", f"{total:,} of {total:,}", aria_live="polite"),
        class_="filter",
        role="search",
        hidden=True,
    )


def _choice(name: str, values: Sequence[str]) -> Markup:
    options = [element("option", value, value=value) for value in values]
    return element(
        "label", f"{name.capitalize()} ", element("select", element("option", "all", value=""), options, name=name)
    )


# Parts of a page

_MOST_WARNINGS = 20
_MOST_WARNING = 1000  # characters


def section(name: str, title: str, *children: Child, class_: str | None = None) -> Markup:
    """Render a section with its heading; `name` is its id."""
    return element("section", element("h2", title), *children, id=name, class_=class_)


def definitions(facts: Mapping[str, Child]) -> Markup:
    """Render names with their values as a definition list; empty values are left out."""
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in facts.items() if value]
    return element("dl", pairs, class_="facts")


def figure(title: str, sentence: str, plot: Markup) -> Markup:
    """Render a plot with its title and a one-sentence caption."""
    return element("figure", element("figcaption", element("strong", title), " ", sentence), plot)


def figures(*plots: Markup | None) -> Markup:
    """Render plots side by side."""
    return element("div", join(plots), class_="figures")


def badge(word: str, class_: str) -> Markup:
    """Render a coloured word."""
    return element("span", word, class_=f"badge {class_}")


def warning_list(warnings: Sequence[str]) -> Markup | None:
    """Render warnings as one box, or None."""
    more = [f"and {len(warnings) - _MOST_WARNINGS:,} more"] if len(warnings) > _MOST_WARNINGS else []
    items = [
        element("li", clipped(warning, _MOST_WARNING), dir="auto") for warning in (*warnings[:_MOST_WARNINGS], *more)
    ]
    return element("ul", items, class_="warnings", aria_label="Warnings") if items else None


def page_header(eyebrow: str, title: Child, facts: Mapping[str, Child]) -> Markup:
    """Render the top of a report: its kind, its title and its facts."""
    return element(
        "header", element("p", eyebrow, class_="eyebrow"), element("h1", title), definitions(facts), class_="top"
    )


# Documents: self-contained, with a content security policy that blocks other scripts and all requests


Data = TypeVar("Data")
Sections = Mapping[str, tuple[str, Callable[[Data], Markup | None]]]  # id → title in the table of contents, renderer


@dataclass(frozen=True, slots=True)
class PageContent:
    """Page content without the document around it."""

    title: str
    header: Markup
    contents: Markup | None
    main: Markup


def page(drawn: PageContent) -> str:
    """Render page content as a complete document."""
    return document(
        drawn.title,
        element("a", "Skip to the results", href="#results", class_="skip"),
        drawn.header,
        drawn.contents,
        element("main", drawn.main, id="results"),
        element("footer", "Written by assay. Hover over a mark of a plot for its value."),
    )


def render_sections(table: Sections[Data], data: Data) -> tuple[Markup | None, list[Markup]]:
    """Render the sections that the data has; return links to them (None for fewer than two) and the sections."""
    rendered = {name: markup for name, (_, render) in table.items() if (markup := render(data))}
    links = [element("a", table[name][0], href=f"#{name}") for name in rendered]
    contents = element("nav", links, aria_label="Sections") if len(links) > 1 else None
    return contents, list(rendered.values())


def document(title: str, *body: Markup | None) -> str:
    """Wrap a body in a document with its style, its script and the policy that allows no other."""
    style, script = (Markup(files(__package__).joinpath(name).read_text("utf-8")) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", style),
    )
    page = element("html", head, element("body", *body, element("script", script)), lang="en")
    return join([Markup("<!doctype html>\n"), page, Markup("\n")])
