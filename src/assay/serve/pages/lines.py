"""Text as lines with their numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence

from assay.evaluate.report.markup import Markup, element


def numbered(
    rows: Sequence[str], start: int, end: int, paged: bool = False, cited: Container[int] = frozenset()
) -> Markup:
    """Lines that wrap. They have numbers where they are those of a file: not in formats whose text had to be made first."""
    counts = not paged and len(rows) == end - start + 1
    shown, anchor = [], "cited"
    for number, row in enumerate(rows, start):
        stands_out = counts and number in cited
        shown.append(
            element(
                "span",
                row or " ",
                class_="line cited" if stands_out else "line",
                data_number=number if counts else None,
                id=anchor if stands_out and anchor else None,
            )
        )
        anchor = "" if stands_out else anchor
    return element("pre", element("code", shown), class_="code prose", tabindex="0")
