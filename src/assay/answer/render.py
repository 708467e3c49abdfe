"""A reply as text, as Markdown, and as the stable JSON that docs/guides/ask.md describes."""

from __future__ import annotations

from typing import Any

from assay.answer.reply import Reply, Source
from assay.text.printable import printable

FORMS = ("text", "markdown", "json")


def rendered(reply: Reply, form: str) -> str:
    """The answer, then the list of its sources; of a refusal, what it says. Safe for a terminal."""
    return printable("\n\n".join(filter(None, (reply.text, sources(reply, form)))))


def sources(reply: Reply, form: str) -> str:
    """The sources by number, and the citations that were dropped."""
    lines = [_SOURCE[form](one) for one in reply.sources]
    if reply.dropped:
        numbers = ", ".join(f"#{number}" for number in reply.dropped)
        lines.append(f"{'' if not lines else chr(10)}dropped, as no passage has that number: {numbers}")
    return printable("\n".join(lines))


def _text(one: Source) -> str:
    return f"[#{one.number}] {one.place}" + (f"  {one.title}" if one.title else "")


def _markdown(one: Source) -> str:
    return f"- [#{one.number}] `{one.place}`" + (f" – {one.title}" if one.title else "")


_SOURCE = {"text": _text, "markdown": _markdown}


def as_json(reply: Reply) -> dict[str, Any]:
    """Every fact of a reply under names that stay."""
    return {
        "question": reply.question,
        "answer": reply.text,
        "grounded": reply.grounded,
        "confidence": reply.confidence,
        "threshold": reply.threshold,
        "citations": [_citation(one) for one in reply.sources],
        "dropped_citations": list(reply.dropped),
        "searched": {
            "corpus": reply.searched.corpus,
            "places": list(reply.searched.places),
            "unseen_words": list(reply.searched.unseen),
        },
        "model": reply.model or None,
        "problem": reply.problem or None,
    }


def _citation(one: Source) -> dict[str, Any]:
    told = {
        "n": one.number, "id": one.id, "path": one.path, "start": one.start, "end": one.end, "page": one.page or None,
        "headings": list(one.headings), "citation": one.place, "text": one.text,
    }  # fmt: skip
    return told | ({"repository": one.repository} if one.repository else {})
