"""Index page: statistics, resolved calls, freshness, and files that could not be read."""

from __future__ import annotations

from collections.abc import Mapping

from assay.api import Repository
from assay.html.elements import (
    Child,
    Column,
    Markup,
    decimal,
    definitions,
    element,
    exact,
    join,
    meter,
    number_column,
    table,
    whole,
)
from assay.rank.status import LanguageStatus, Status
from assay.serve.requests import Request
from assay.serve.watch import Resident, State
from assay.serve.watch.keeper import FAILED, FRESH
from assay.serve.web.bench import Bench
from assay.serve.web.pages.search import waiting
from assay.serve.web.pages.shell import Page, Shown, heading
from assay.store.index import NoIndex, UnusableIndex
from assay.text.display import clipped, counted

_MAX_FILES = 50  # names in a list

Count = tuple[str, int]
Language = tuple[str, LanguageStatus]


def show(bench: Bench, request: Request) -> Shown:
    """Render the index statistics of the repository, or a section per repository."""
    if not bench.multi_repo:
        [shown] = [_render_index(resident, "") for resident in bench.members.values()]
        return Shown("Index", join([_render_heading(bench), shown.body]), shown.again)
    blocks = [(label, resident, _render_index(resident, label)) for label, resident in bench.members.items()]
    again = max((shown.again for _, _, shown in blocks), default=0)
    return Shown("Index", join([_render_heading(bench), *(_render_section(*block) for block in blocks)]), again)


def _render_heading(bench: Bench) -> Markup:
    if not bench.multi_repo:
        return heading("Index", *(element("code", str(root)) for root in bench.resident.roots))
    links = [element("li", element("a", label, href=f"#{_anchor(label)}")) for label in bench.members]
    about = f"{len(links)} repositories, each with an index of its own."
    return join(
        [
            heading("Index", about),
            _render_ignored(bench.ignored_settings),
            element("ul", links, class_="components", aria_label="Repositories"),
        ]
    )


def _render_section(label: str, resident: Resident, shown: Shown) -> Markup:
    """Render the section of one repository with the state of its index."""
    tone = {FRESH: "kind-win", FAILED: "kind-loss"}.get(resident.state.name)
    state = element("span", resident.state.name, class_=f"badge {tone}" if tone else "badge")
    where = element("p", element("code", str(resident.root)), " ", state, class_="lead")
    return element("section", element("h2", label), where, shown.body, id=_anchor(label), class_="member")


def _anchor(label: str) -> str:
    return f"repository-{label}"


def _render_index(resident: Resident, label: str) -> Shown:
    """Render the statistics of an index, or its progress."""
    try:
        with resident.using() as repo:
            return Shown("", join([_render_problem(resident.state), _render_body(repo, "h3" if label else "h2")]))
    except (NoIndex, UnusableIndex):
        resident.look()
        return waiting(resident.state, label)


def _render_problem(state: State) -> Markup | None:
    """Render the reason why an index is not being refreshed; None if there is none."""
    failed = "The index could not be refreshed: " if state.name == FAILED else ""
    return element("p", failed + state.why, class_="note") if state.why else None


def _render_ignored(names: list[str]) -> Markup | None:
    """Render the untrusted settings. Trust is never requested on a page: its viewer may not be the user."""
    if not names:
        return None
    return element(
        "p", f"Ignored until trusted: {', '.join(names)}. See: ", element("code", "assay trust --show"), class_="note"
    )


def _render_body(repo: Repository, level: str) -> Markup:
    status, stale = repo.status(), repo.freshness().stale
    warnings = [element("p", warning, class_="note") for warning in repo.look().found.warnings]
    edges = _count_table("Edges", "Type", status.edge_types)
    skipped = _count_table("Skipped files", "Reason", status.skipped)
    return join(
        [
            _render_ignored(repo.ignored_settings),
            _render_tiles(status),
            element("section", element(level, "Freshness"), _render_freshness(stale), warnings),
            element("section", _language_table(status)),
            element("section", element("div", edges, skipped, class_="pairs")),
            element("section", element(level, "Problems"), _render_problems(repo, status)),
        ]
    )


def _render_tiles(status: Status) -> Markup:
    tiles: dict[str, tuple[str, str]] = {
        "Files": (whole(status.files), f"{whole(status.lines)} lines"),
        "Symbols": (whole(status.symbols), f"{whole(status.edges)} edges between them"),
        "Calls resolved": (
            "–" if status.calls_resolved is None else f"{status.calls_resolved:.1%}",
            "of calls to names defined in this repository",
        ),
        "Documents": (whole(status.documents), f"{whole(status.sections)} sections"),
    }
    items = [
        element("li", element("h3", name), element("p", value, class_="value"), element("p", about, class_="meaning"))
        for name, (value, about) in tiles.items()
    ]
    return element("ul", items, class_="tiles figures-of-index")


def _render_freshness(stale: list[str]) -> Markup:
    if not stale:
        return element("p", element("span", "fresh", class_="badge kind-win"), " Nothing changed since it was indexed.")
    more = f" and {len(stale) - _MAX_FILES:,} more" if len(stale) > _MAX_FILES else ""
    return join(
        [
            element(
                "p",
                element("span", "stale", class_="badge kind-loss"),
                f" {counted(len(stale), 'file')} changed since; the index is being refreshed.",
            ),
            element("ul", [element("li", element("code", path)) for path in stale[:_MAX_FILES]], more, class_="names"),
        ]
    )


def _language_table(status: Status) -> Markup:
    columns = [
        Column[Language]("Language", lambda row: row[0]),
        number_column("Files", lambda row: row[1].files, "", whole),
        number_column("Symbols", lambda row: row[1].symbols, "", whole),
        number_column("Calls", lambda row: row[1].calls, "all call sites", whole, minor=True),
        Column[Language]("Resolved", lambda row: _share(row[1].calls_resolved), "number", "of calls to names defined in this repository"),
        Column[Language](
            "At least", lambda row: _share(row[1].calls_resolved_floor), "number minor", "if every ambiguous name is defined here"
        ),
    ]  # fmt: skip
    return table("Languages", columns, status.languages.items())


def _share(value: float | None) -> Markup:
    return meter(value) if value is not None else exact(None, "–")


def _count_table(title: str, name: str, counts: Mapping[str, int]) -> Markup | None:
    columns = [
        Column[Count](name, lambda row: row[0].replace("_", " ")),
        number_column("Number", lambda row: row[1], "", whole),
    ]
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return element("div", table(title, columns, ordered)) if counts else None


def _render_problems(repo: Repository, status: Status) -> Markup:
    rows = repo.index.problems(_MAX_FILES)
    facts: dict[str, Child] = {
        "Files that could not be read": whole(status.problems),
        "Files with syntax errors": whole(status.syntax_errors),
        "Documents that could not be read": whole(status.unread_documents),
        "Size of the index": f"{status.bytes / 1e6:,.1f} MB",
        "Last indexing": f"{status.mode}, {decimal(status.seconds, 1)} s",
    }
    columns = [
        Column[tuple[str, str]]("File", lambda row: element("code", row[0])),
        Column[tuple[str, str]]("Why", lambda row: clipped(row[1], 300)),
    ]
    return join([definitions(facts), table("Files that could not be read", columns, rows) if rows else None])


PAGES = (Page("/index", show),)
