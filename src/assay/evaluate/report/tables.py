"""Tables whose columns are data, and the filter that goes with a long one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.wording import decimal, exact, known

Row = TypeVar("Row")

_MOST_ROWS = 1000
_MOST_BYTES = 1_500_000  # of the rows of one table: the page stays under 5 MB whatever the texts are


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A heading and what a row shows under it; `class_` is number, wide or minor (left out on a phone)."""

    title: str
    cell: Callable[[Row], Child]
    class_: str = ""
    about: str = ""  # a word of explanation on the heading


def number_column(
    title: str,
    value: Callable[[Row], float | None],
    about: str = "",
    written: Callable[[float | None], str] = decimal,
    minor: bool = False,
) -> Column[Row]:
    """A column of numbers."""
    return Column(
        title, lambda row: exact(value(row), written(value(row))), "number minor" if minor else "number", about
    )


def table(name: str, columns: Sequence[Column[Row]], rows: Iterable[Row], note: Child = None) -> Markup:
    """A table in a frame of its own that scrolls sideways when it must; the first column heads each row."""
    body = [table_row(columns, row) for row in rows]
    return framed_table(name, columns, body, note)


def framed_table(name: str, columns: Sequence[Column[Row]], body: Sequence[Markup], note: Child = None) -> Markup:
    """The table around rows that are markup already."""
    heads = [element("th", c.title, scope="col", class_=c.class_ or None, title=c.about or None) for c in columns]
    content = element("table", element("caption", name), element("thead", element("tr", heads)), element("tbody", body))
    under = element("p", note, class_="note") if note else None
    return join([element("div", content, class_="frame", role="region", aria_label=name, tabindex="0"), under])


def table_row(columns: Sequence[Column[Row]], row: Row, **attributes: str | None) -> Markup:
    """One row; the attributes are what a filter looks at."""
    head, *rest = columns
    return element(
        "tr",
        element("th", head.cell(row), scope="row", class_=head.class_ or None),
        [element("td", column.cell(row), class_=column.class_ or None) for column in rest],
        **attributes,
    )


def bounded_rows(
    columns: Sequence[Column[Row]], rows: Sequence[Row], attributes: Callable[[Row], dict[str, str | None]]
) -> tuple[list[Markup], str | None]:
    """As many rows as a page can hold, and the note that says how many were left out."""
    out: list[Markup] = []
    size = 0
    for row in rows[:_MOST_ROWS]:
        written = table_row(columns, row, **attributes(row))
        size += len(written.encode())
        if size > _MOST_BYTES:
            break
        out.append(written)
    if len(out) == len(rows):
        return out, None
    return (
        out,
        f"The first {len(out):,} of {len(rows):,} are shown, in this order of attention; the JSON of the run has all.",
    )


def meter(value: float | None, top: float = 1.0) -> Markup:
    """A number over a small bar of its size; without the bar where it does not fit the scale."""
    number = known(value)
    drawn = number is not None and 0 <= number <= top
    bar = element("span", class_="meter", style=f"--share:{(number or 0) / top:.1%}") if drawn else None
    return join([exact(value, decimal(value)), bar])


def within(values: Iterable[float | None]) -> float:
    """The end of the scale for values that are drawn side by side: 1, or the largest if it is more."""
    return max([1.0, *(abs(number) for value in values if (number := known(value)) is not None)])


def filters(choices: dict[str, list[str]], only: dict[str, str], total: int) -> Markup:
    """The controls over a table: a search, a choice per attribute, a box per attribute that says yes. Shown by the script."""
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
