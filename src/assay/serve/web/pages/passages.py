"""Passages view: search results with location and snippet, expandable in place, and the page of one passage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from textwrap import dedent
from typing import Any
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Passage, is_passage_id
from assay.html.elements import Markup, decimal, element, join
from assay.search.search import PASSAGE, SearchHit
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.shell import Page, Shown, absent, empty, freshness_badge, heading, numbered, took
from assay.serve.web.parameters import Parameter
from assay.text.display import counted
from assay.text.tokens import LONGEST_TASK

_MAX_RESULTS = 20  # results on a page
_SNIPPET_LINES = 3  # of a collapsed result
_MAX_LINE = 10_000_000  # highest accepted line number


def render_results(bench: Bench, query: str, values: dict[str, Any]) -> Markup:
    """Render the search results of a query."""
    with bench.searching() as repo:
        started = time.perf_counter()
        passages = repo.search(query, _MAX_RESULTS)
        elapsed = time.perf_counter() - started
        if not passages:
            nothing = empty("Nothing found", f"No query word occurs in {repo.searched()}. Try other words.")
            return join([absent(bench, repo), nothing])
        summary_parts = [
            element("strong", counted(len(passages), "passage")),
            f" of {repo.searched()}",
            took(elapsed),
            freshness_badge(repo),
        ]
        summary = element("div", element("p", summary_parts), class_="summary")
        return join([absent(bench, repo), summary, listed(passages, query)])


def listed(passages: Sequence[SearchHit], query: str) -> Markup:
    """Render search results as a list of expandable entries."""
    rows = [_render_result(rank, result, query) for rank, result in enumerate(passages, 1)]
    return element("ol", rows, class_="results passages", id="results")


def _render_result(rank: int, result: SearchHit, query: str) -> Markup:
    snippet = dedent("\n".join(result.snippet(_SNIPPET_LINES))).split("\n")
    head = element(
        "summary",
        element("span", rank, class_="rank"),
        element("span", _render_title(result), class_="name"),
        element("span", element("bdi", result.place), class_="place"),
        element("span", decimal(result.score, 2), class_="score", title="score"),
        element(
            "span",
            [element("span", _highlight(result, line)) for line in snippet],
            class_="said" if result.kind == PASSAGE else "said code-said",
        ),
    )
    link = element("a", "Open on a page of its own", href=address(result.id, query))
    whole = numbered(
        [_highlight(result, line) for line in result.text.split("\n")],
        result.start,
        result.end,
        paged=bool(result.page),
    )
    return element("li", element("details", head, element("div", whole, element("p", link, class_="alone"), class_="opened")))  # fmt: skip


def _render_title(result: SearchHit) -> Markup:
    if result.kind != PASSAGE:
        return join([element("code", result.symbol, class_="symbol"), " ", element("span", result.kind, class_="kind")])
    return section_path(result.headings or (result.path,))


def section_path(headings: Sequence[str]) -> Markup:
    """Render a heading path; the innermost heading is bold."""
    *outer, innermost = headings
    return join([*(element("span", f"{name} › ", class_="above") for name in outer), element("strong", innermost)])


def _highlight(result: SearchHit, line: str) -> Markup:
    return join(element("mark", piece) if matched else piece for piece, matched in result.marked(line))


# Passage page


def address(id: str, query: str, start: int = 0, end: int = 0) -> str:
    """Return the URL of a passage or definition; lines `start` to `end` of a passage are highlighted."""
    if not is_passage_id(id):
        return f"/result?{urlencode({'task': query, 'id': id})}"
    lines = {"start": start, "end": end} if start else {}
    return f"/passage?{urlencode({'id': id, **lines})}" + ("#cited" if start else "")


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    """Render a passage by id, as it was indexed. Raises NotFound for an unknown id."""
    with bench.searching() as repo:
        passage = _find_passage(repo, values["id"])
    cited = range(values["start"] or 0, (values["end"] or 0) + 1)
    whole = numbered(passage.text.split("\n"), passage.first, passage.last, paged=bool(passage.page), cited=cited)
    title = passage.headings[-1] if passage.headings else passage.path
    above = element("p", section_path(passage.headings)) if len(passage.headings) > 1 else None
    return Shown(
        title, join([heading(title, element("code", passage.place)), element("div", above, whole, class_="whole")])
    )


def _find_passage(repo: Repository, id: str) -> Passage:
    passages = repo.searcher().search.passages
    path = id.rpartition("#")[0]
    if path in passages.paths:
        document = passages.paths.index(path)
        for number in (passages.documents == document).nonzero()[0]:
            if (passage := passages[int(number)]).id == id:
                return passage
    raise NotFound("no such passage in the index; it may have been removed")


PAGES = (
    Page(
        "/passage",
        show,
        (
            Parameter("id", "the id of a passage", required=True, longest=LONGEST_TASK),
            Parameter("start", "the first line that is cited", int, least=1, most=_MAX_LINE),
            Parameter("end", "the last line that is cited", int, least=1, most=_MAX_LINE),
        ),
        place="/",
    ),
)
