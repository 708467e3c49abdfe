"""Views of passages and answers: search results expandable in place, cited answers, and the page of one passage."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from textwrap import dedent
from urllib.parse import urlencode

from assay.answer.reply import CLOSEST, REFUSED, Reply, Source
from assay.api import Repository
from assay.core.items import Passage, is_passage_id
from assay.html.elements import Child, Markup, decimal, element, join
from assay.search.hits import PASSAGE, SearchHit
from assay.search.query import parse
from assay.serve.requests import PassagePage
from assay.serve.web.bench import Bench, NotFound
from assay.serve.web.pages.shell import Page, Shown, absent, empty, freshness_badge, heading, numbered, took
from assay.text.display import counted
from assay.text.markup import paragraphs

_MAX_RESULTS = 20  # results on a page
_SNIPPET_LINES = 3  # of a collapsed result
_MAX_NEAREST = 5  # passages shown with a refusal
_INLINE = re.compile(r"\[#(\d{1,6})\]|(`+)(.+?)\2|\*\*(?=\S)([^*]+?)\*\*")


def render_results(bench: Bench, query: str) -> Markup:
    """Render the search results of a query."""
    with bench.searching() as repo:
        started = time.perf_counter()
        passages = repo.search(query, _MAX_RESULTS)
        elapsed = time.perf_counter() - started
        if not passages:
            advice = "Try other words." if parse(query).is_plain else "Try without some of the filters and exact parts."
            about = [f"Nothing in {repo.searched()} matches. {advice}", *passages.notes]
            return join([absent(bench, repo), empty("Nothing found", " ".join(about))])
        summary_parts = [
            element("strong", counted(len(passages), "passage")),
            f" of {repo.searched()}",
            took(elapsed),
            freshness_badge(repo),
        ]
        notes = [element("p", note, class_="note") for note in passages.notes]
        summary = element("div", element("p", summary_parts), notes, class_="summary")
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
        return join(
            [
                element("code", result.symbol or result.path, class_="symbol"),
                " ",
                element("span", result.kind, class_="kind"),
            ]
        )
    return section_path(result.headings or (result.path,))


def section_path(headings: Sequence[str]) -> Markup:
    """Render a heading path; the innermost heading is bold."""
    *outer, innermost = headings
    return join([*(element("span", f"{name} › ", class_="above") for name in outer), element("strong", innermost)])


def _highlight(result: SearchHit, line: str) -> Markup:
    return join(element("mark", piece) if matched else piece for piece, matched in result.marked(line))


# Answers


def render_answer(bench: Bench, question: str) -> Markup:
    """Render the answer to a question with citations linked to its sources, or a refusal."""
    with bench.searching() as repo:
        reply = repo.ask(question)
        return join(
            [absent(bench, repo), (_render_refusal if reply.outcome == REFUSED else _render_excerpts)(repo, reply)]
        )


def _render_excerpts(repo: Repository, reply: Reply) -> Markup:
    note = element("p", reply.notice, class_="note") if reply.outcome == CLOSEST else None
    source_numbers = {source.number for source in reply.sources}
    body = element("div", list(blocks(reply.text, source_numbers)), class_="answer")
    sources = element("ol", [_render_source(source, reply.question) for source in reply.sources], class_="sources")
    return join([_render_summary(repo, reply), note or Markup(""), body, element("h2", "Sources"), sources])


def _render_summary(repo: Repository, reply: Reply) -> Markup:
    """Render confidence, author, freshness and problems of an answer."""
    of_excerpts = " of excerpts alone" if reply.model else ""
    confidence = [
        element("strong", f"confidence {reply.confidence:.0%}"),
        f"{of_excerpts}, an answer needs {reply.threshold:.0%} · ",
    ]
    author = f"written by {reply.model}" if reply.model else "verbatim excerpts"
    dropped = "; citations of unknown sources were removed" if reply.dropped else ""
    problem = element("p", reply.problem, class_="note") if reply.problem else None
    line = element("p", confidence, author, dropped, " · ", freshness_badge(repo))  # fmt: skip
    return element("div", line, problem, class_="summary")


def blocks(text: str, source_numbers: set[int]) -> Iterator[Markup]:
    """Yield the paragraphs and fenced code blocks of a Markdown text; other syntax is shown as is."""
    for block in paragraphs(text):
        if block.code:
            yield element("pre", element("code", block.text), class_="code")
        else:
            yield element("p", list(_inline(block.text, source_numbers)))


def _inline(text: str, source_numbers: set[int]) -> Iterator[str]:
    """Yield inline markup: citations as links to sources, `code`, **strong**."""
    position = 0
    for match in _INLINE.finditer(text):
        yield text[position : match.start()]
        position = match.end()
        if match[3] is not None:
            yield element("code", match[3].strip())
        elif match[4] is not None:
            yield element("strong", match[4])
        elif int(match[1]) in source_numbers:
            yield element("a", match[1], href=f"#source-{match[1]}", class_="cite", title=f"Source {match[1]}")
        else:
            yield match[0]
    yield text[position:]


def _render_source(source: Source, question: str) -> Markup:
    where = address(source.id, question, source.start, source.end)
    title: Child = section_path(source.headings) if source.headings else None
    return element(
        "li",
        element("p", element("a", element("bdi", source.place), href=where), " ", title, class_="cited-place"),
        numbered(source.text.split("\n"), source.start, source.end, paged=bool(source.page)),
        id=f"source-{source.number}",
        value=source.number,
    )


def _render_refusal(repo: Repository, reply: Reply) -> Markup:
    """Render the reason of a refusal and the nearest passages."""
    reason = reply.text.partition("\n")[0]
    unmatched = ", ".join(f"“{word}”" for word in reply.searched.unseen)
    confidence = f"Confidence {decimal(reply.confidence, 2)}; an answer needs {decimal(reply.threshold, 2)}."
    box = element(
        "div",
        element("h2", "Not here"),
        element("p", reason),
        element("p", f"Nothing in this corpus mentions {unmatched}.") if unmatched else None,
        element("p", confidence, " Rephrase the question, or read the nearest passages."),
        class_="empty refusal",
    )
    nearest = repo.search(reply.question, _MAX_NEAREST, plain=True)
    if not nearest:
        return box
    return join([box, element("h2", "What came nearest"), listed(nearest, reply.question)])


# Passage page


def address(id: str, query: str, start: int = 0, end: int = 0) -> str:
    """Return the URL of a passage or definition; lines `start` to `end` of a passage are highlighted."""
    if not is_passage_id(id):
        return f"/result?{urlencode({'task': query, 'id': id})}"
    lines = {"start": start, "end": end} if start else {}
    return f"/passage?{urlencode({'id': id, **lines})}" + ("#cited" if start else "")


def show(bench: Bench, request: PassagePage) -> Shown:
    """Render a passage by id, as it was indexed. Raises NotFound for an unknown id."""
    with bench.searching() as repo:
        passage = _find_passage(repo, request.id)
    cited = range(request.start, request.end + 1)
    whole = numbered(passage.text.split("\n"), passage.first, passage.last, paged=bool(passage.page), cited=cited)
    title = passage.headings[-1] if passage.headings else passage.path
    above = element("p", section_path(passage.headings)) if len(passage.headings) > 1 else None
    return Shown(
        title, join([heading(title, element("code", passage.place)), element("div", above, whole, class_="whole")])
    )


def _find_passage(repo: Repository, id: str) -> Passage:
    passages = repo.searcher().passages
    path = id.rpartition("#")[0]
    if path in passages.paths:
        document = passages.paths.index(path)
        for number in (passages.documents == document).nonzero()[0]:
            if (passage := passages[int(number)]).id == id:
                return passage
    raise NotFound("no such passage in the index; it may have been removed")


PAGES = (Page("/passage", show, PassagePage, place="/"),)
