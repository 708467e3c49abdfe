"""Passages of documents and definitions of code for a query: where each stands, the lines that say most, and the whole of it when opened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from textwrap import dedent
from typing import Any
from urllib.parse import urlencode

from assay.api import Repository
from assay.core.items import Passage, is_passage_id
from assay.html.elements import Markup, decimal, element, join
from assay.search.search import PASSAGE, Found
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.shell import Page, Shown, absent, empty, freshness_badge, heading, numbered, took
from assay.serve.web.parameters import Parameter
from assay.text.display import counted
from assay.text.tokens import LONGEST_TASK

_SHOWN = 20  # results on a page
_SNIPPET = 3  # lines of a result that is not opened
_LAST_LINE = 10_000_000  # of any file


def found(bench: Bench, query: str, values: dict[str, Any]) -> Markup:
    """The passages for a query."""
    with bench.searching() as repo:
        began = time.perf_counter()
        passages = repo.search(query, _SHOWN)
        spent = time.perf_counter() - began
        if not passages:
            nothing = empty("Nothing found", f"No word of it is in {repo.searched()}. Try other words.")
            return join([absent(bench, repo), nothing])
        told = [
            element("strong", counted(len(passages), "passage")),
            f" of {repo.searched()}",
            took(spent),
            freshness_badge(repo),
        ]
        summary = element("div", element("p", told), class_="summary")
        return join([absent(bench, repo), summary, listed(passages, query)])


def listed(passages: Sequence[Found], query: str) -> Markup:
    """Passages one below the other, each to be opened in place."""
    rows = [_result(rank, one, query) for rank, one in enumerate(passages, 1)]
    return element("ol", rows, class_="results passages", id="results")


def _result(rank: int, one: Found, query: str) -> Markup:
    said = dedent("\n".join(one.snippet(_SNIPPET))).split("\n")
    head = element(
        "summary",
        element("span", rank, class_="rank"),
        element("span", _title(one), class_="name"),
        element("span", element("bdi", one.place), class_="place"),
        element("span", decimal(one.score, 2), class_="score", title="score"),
        element(
            "span",
            [element("span", _marked(one, line)) for line in said],
            class_="said" if one.kind == PASSAGE else "said code-said",
        ),
    )
    link = element("a", "Open on a page of its own", href=address(one.id, query))
    whole = numbered([_marked(one, line) for line in one.text.split("\n")], one.start, one.end, paged=bool(one.page))
    return element("li", element("details", head, element("div", whole, element("p", link, class_="alone"), class_="opened")))  # fmt: skip


def _title(one: Found) -> Markup:
    if one.kind != PASSAGE:
        return join([element("code", one.symbol, class_="symbol"), " ", element("span", one.kind, class_="kind")])
    return section_path(one.headings or (one.path,))


def section_path(headings: Sequence[str]) -> Markup:
    """The headings above a passage, the nearest in bold."""
    *above, last = headings
    return join([*(element("span", f"{name} › ", class_="above") for name in above), element("strong", last)])


def _marked(one: Found, line: str) -> Markup:
    return join(element("mark", piece) if hit else piece for piece, hit in one.marked(line))


# one passage


def address(id: str, query: str, start: int = 0, end: int = 0) -> str:
    """Where a passage, or a definition, is shown whole; of a passage, lines from `start` to `end` stand out."""
    if not is_passage_id(id):
        return f"/result?{urlencode({'task': query, 'id': id})}"
    lines = {"start": start, "end": end} if start else {}
    return f"/passage?{urlencode({'id': id, **lines})}" + ("#cited" if start else "")


def show(bench: Bench, values: dict[str, Any]) -> Shown:
    """A passage by its id. Only what is in the index is shown, as it was indexed."""
    with bench.searching() as repo:
        one = _passage(repo, values["id"])
    cited = range(values["start"] or 0, (values["end"] or 0) + 1)
    whole = numbered(one.text.split("\n"), one.first, one.last, paged=bool(one.page), cited=cited)
    title = one.headings[-1] if one.headings else one.path
    above = element("p", section_path(one.headings)) if len(one.headings) > 1 else None
    return Shown(
        title, join([heading(title, element("code", one.place)), element("div", above, whole, class_="whole")])
    )


def _passage(repo: Repository, id: str) -> Passage:
    passages = repo.searcher().search.passages
    path = id.rpartition("#")[0]
    if path in passages.paths:
        document = passages.paths.index(path)
        for number in (passages.documents == document).nonzero()[0]:
            if (one := passages[int(number)]).id == id:
                return one
    raise NotFound("there is no such passage in the index (any more)")


PAGES = (
    Page(
        "/passage",
        show,
        (
            Parameter("id", "the id of a passage", required=True, longest=LONGEST_TASK),
            Parameter("start", "the first line that is cited", int, least=1, most=_LAST_LINE),
            Parameter("end", "the last line that is cited", int, least=1, most=_LAST_LINE),
        ),
        place="/",
    ),
)
