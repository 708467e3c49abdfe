"""A question: the answer with citations that lead to what they cite, or the refusal with what came nearest."""

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

_NEAREST = 5  # passages shown with a refusal
_FENCE = re.compile(r"(`{3,}|~{3,})")
_INLINE = re.compile(r"\[#(\d{1,6})\]|(`+)(.+?)\2|\*\*(?=\S)([^*]+?)\*\*")


def answered(bench: Bench, question: str, values: dict[str, Any]) -> Markup:
    """What `assay ask` says."""
    with bench.searching() as repo:
        reply = repo.ask(question)
        return join([absent(bench, repo), (_grounded if reply.grounded else _refused)(repo, reply)])


def _grounded(repo: Repository, reply: Reply) -> Markup:
    known = {one.number for one in reply.sources}
    body = element("div", list(blocks(reply.text, known)), class_="answer")
    sources = element("ol", [_source(one, reply.question) for one in reply.sources], class_="sources")
    return join([_told(repo, reply), body, element("h2", "Sources"), sources])


def _told(repo: Repository, reply: Reply) -> Markup:
    """How sure it is, who wrote it, and what is wrong with it."""
    sure = [
        element("strong", f"{reply.confidence:.0%} sure"),
        f"; below {reply.threshold:.0%} nothing would be answered · ",
    ]
    wrote = f"written by {reply.model}" if reply.model else "excerpts, word for word"
    dropped = "; a citation of something that was not found is left out" if reply.dropped else ""
    problem = element("p", reply.problem, class_="note") if reply.problem else None
    line = element("p", sure, wrote, dropped, " · ", freshness_badge(repo))  # fmt: skip
    return element("div", line, problem, class_="summary")


def blocks(text: str, known: set[int]) -> Iterator[Markup]:
    """Paragraphs and fenced code of a Markdown text. Whatever else it has is shown as it is."""
    lines = iter(text.split("\n"))
    paragraph: list[str] = []
    for line in lines:
        fence = _FENCE.match(line)
        if line.strip() and not fence:
            paragraph.append(line)
            continue
        if paragraph:
            yield _paragraph(paragraph, known)
            paragraph = []
        if fence:
            yield element("pre", element("code", "\n".join(_fenced(lines, fence[1]))), class_="code")
    if paragraph:
        yield _paragraph(paragraph, known)


def _fenced(lines: Iterator[str], fence: str) -> Iterator[str]:
    for line in lines:
        if line.strip() == fence:
            return
        yield line


def _paragraph(lines: list[str], known: set[int]) -> Markup:
    return element("p", list(_inline("\n".join(lines), known)))


def _inline(text: str, known: set[int]) -> Iterator[str]:
    """Citations become links to the sources, what is in backticks becomes code, what is between stars strong."""
    at = 0
    for found in _INLINE.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        if found[3] is not None:
            yield element("code", found[3].strip())
        elif found[4] is not None:
            yield element("strong", found[4])
        elif int(found[1]) in known:
            yield element("a", found[1], href=f"#source-{found[1]}", class_="cite", title=f"Source {found[1]}")
        else:
            yield found[0]
    yield text[at:]


def _source(one: Source, question: str) -> Markup:
    where = address(one.id, question, one.start, one.end)
    title: Child = section_path(one.headings) if one.headings else None
    return element(
        "li",
        element("p", element("a", element("bdi", one.place), href=where), " ", title, class_="cited-place"),
        numbered(one.text.split("\n"), one.start, one.end, paged=bool(one.page)),
        id=f"source-{one.number}",
        value=one.number,
    )


def _refused(repo: Repository, reply: Reply) -> Markup:
    """Why there is no answer, and the passages that came nearest."""
    why = reply.text.partition("\n")[0]
    unseen = ", ".join(f"“{word}”" for word in reply.searched.unseen)
    sure = f"It would be {decimal(reply.confidence, 2)} sure; an answer needs {decimal(reply.threshold, 2)}."
    box = element(
        "div",
        element("h2", "No answer"),
        element("p", why),
        element("p", f"No text here has {unseen}.") if unseen else None,
        element("p", sure, " Ask in other words, or read what came nearest."),
        class_="empty refusal",
    )
    nearest = repo.search(reply.question, _NEAREST)
    if not nearest:
        return box
    return join([box, element("h2", "What came nearest"), listed(nearest, reply.question)])
