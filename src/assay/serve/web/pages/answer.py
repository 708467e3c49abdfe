"""Answer view: the answer with citations linked to their sources, or a refusal with the nearest passages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assay.answer.reply import Reply, Source
from assay.api import Repository
from assay.html.elements import Child, Markup, decimal, element, join
from assay.serve.web.bench import Bench
from assay.serve.web.pages.passages import address, listed, section_path
from assay.serve.web.pages.shell import absent, freshness_badge, numbered
from assay.text.blocks import paragraphs

_MAX_NEAREST = 5  # passages shown with a refusal
_INLINE = re.compile(r"\[#(\d{1,6})\]|(`+)(.+?)\2|\*\*(?=\S)([^*]+?)\*\*")


def answered(bench: Bench, question: str, values: dict[str, Any]) -> Markup:
    """Render the answer to a question, as `assay ask` gives it."""
    with bench.searching() as repo:
        reply = repo.ask(question)
        return join([absent(bench, repo), (_render_grounded if reply.grounded else _render_refusal)(repo, reply)])


def _render_grounded(repo: Repository, reply: Reply) -> Markup:
    source_numbers = {source.number for source in reply.sources}
    body = element("div", list(blocks(reply.text, source_numbers)), class_="answer")
    sources = element("ol", [_render_source(source, reply.question) for source in reply.sources], class_="sources")
    return join([_render_summary(repo, reply), body, element("h2", "Sources"), sources])


def _render_summary(repo: Repository, reply: Reply) -> Markup:
    """Render confidence, author, freshness and problems of an answer."""
    confidence = [
        element("strong", f"confidence {reply.confidence:.0%}"),
        f" (threshold {reply.threshold:.0%}) · ",
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
        element("h2", "No answer"),
        element("p", reason),
        element("p", f"Nothing in this corpus mentions {unmatched}.") if unmatched else None,
        element("p", confidence, " Rephrase the question, or read the nearest passages."),
        class_="empty refusal",
    )
    nearest = repo.search(reply.question, _MAX_NEAREST)
    if not nearest:
        return box
    return join([box, element("h2", "What came nearest"), listed(nearest, reply.question)])
