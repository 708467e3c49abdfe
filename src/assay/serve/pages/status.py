"""The index page: what is indexed, how well calls were resolved, what is stale and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.evaluate.report.markup import Child, Markup, element, join
from assay.evaluate.report.overview import definitions
from assay.evaluate.report.tables import Column, meter, number_column, table
from assay.evaluate.report.wording import decimal, exact, shortened, whole
from assay.repository import Repository
from assay.retrieve.status import LanguageStatus, Status
from assay.serve.bench import Bench
from assay.serve.pages.search import not_ready
from assay.serve.pages.shell import Page, Shown, heading
from assay.store.index import NoIndex, UnusableIndex
from assay.text.counting import counted

_MOST_FILES = 50  # names in a list

Count = tuple[str, int]
Language = tuple[str, LanguageStatus]


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    try:
        with bench.using() as repo:
            return Shown("Index", join([heading("Index", element("code", str(repo.root))), _body(repo)]))
    except (NoIndex, UnusableIndex):
        waiting = not_ready(bench.resident.state)
        return Shown("Index", join([heading("Index"), waiting.body]), waiting.again)


def _body(repo: Repository) -> Markup:
    status, stale = repo.status(), repo.freshness().stale
    return join(
        [
            _figures(status),
            element("section", element("h2", "Freshness"), _freshness(stale)),
            element("section", _languages(status)),
            element("section", element("div", _edges(status), _passed_over(status), class_="pairs")),
            element("section", element("h2", "Problems"), _problems(repo, status)),
        ]
    )


def _figures(status: Status) -> Markup:
    tiles: dict[str, tuple[str, str]] = {
        "Files": (whole(status.files), f"{whole(status.lines)} lines"),
        "Symbols": (whole(status.symbols), f"{whole(status.edges)} edges between them"),
        "Calls resolved": (
            "–" if status.calls_resolved is None else f"{status.calls_resolved:.1%}",
            "of those that name something of this repository",
        ),
        "Documents": (whole(status.documents), f"{whole(status.sections)} sections"),
    }
    items = [
        element("li", element("h3", name), element("p", value, class_="value"), element("p", about, class_="meaning"))
        for name, (value, about) in tiles.items()
    ]
    return element("ul", items, class_="tiles figures-of-index")


def _freshness(stale: list[str]) -> Markup:
    if not stale:
        return element("p", element("span", "fresh", class_="badge kind-win"), " Nothing changed since it was indexed.")
    more = f" and {len(stale) - _MOST_FILES:,} more" if len(stale) > _MOST_FILES else ""
    return join(
        [
            element(
                "p",
                element("span", "stale", class_="badge kind-loss"),
                f" {counted(len(stale), 'file')} changed since; the index is brought up to date by itself.",
            ),
            element("ul", [element("li", element("code", path)) for path in stale[:_MOST_FILES]], more, class_="names"),
        ]
    )


def _languages(status: Status) -> Markup:
    columns = [
        Column[Language]("Language", lambda row: row[0]),
        number_column("Files", lambda row: row[1].files, "", whole),
        number_column("Symbols", lambda row: row[1].symbols, "", whole),
        number_column("Calls", lambda row: row[1].calls, "call sites, all of them", whole, minor=True),
        Column[Language]("Resolved", lambda row: _share(row[1].calls_resolved), "number", "of calls that name something of this repository"),
        Column[Language](
            "At least", lambda row: _share(row[1].calls_resolved_floor), "number minor", "if every doubtful name were one of ours"
        ),
    ]  # fmt: skip
    return table("Languages", columns, status.languages.items())


def _share(value: float | None) -> Markup:
    return meter(value) if value is not None else exact(None, "–")


def _counts(title: str, name: str, counts: Mapping[str, int]) -> Markup | None:
    columns = [
        Column[Count](name, lambda row: row[0].replace("_", " ")),
        number_column("Number", lambda row: row[1], "", whole),
    ]
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return element("div", table(title, columns, ordered)) if counts else None


def _edges(status: Status) -> Markup | None:
    return _counts("Edges", "Type", status.edge_types)


def _passed_over(status: Status) -> Markup | None:
    return _counts("Files passed over", "Reason", status.skipped)


def _problems(repo: Repository, status: Status) -> Markup:
    rows = repo.index.problems(_MOST_FILES)
    facts: dict[str, Child] = {
        "Files that could not be read": whole(status.problems),
        "Files with syntax errors": whole(status.syntax_errors),
        "Documents that could not be read": whole(status.unread_documents),
        "Size of the index": f"{status.bytes / 1e6:,.1f} MB",
        "Last indexing": f"{status.mode}, {decimal(status.seconds, 1)} s",
    }
    columns = [
        Column[tuple[str, str]]("File", lambda row: element("code", row[0])),
        Column[tuple[str, str]]("Why", lambda row: shortened(row[1], 300)),
    ]
    return join([definitions(facts), table("Files that could not be read", columns, rows) if rows else None])


PAGES = (Page("/index", show),)
