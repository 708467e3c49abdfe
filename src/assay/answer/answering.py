"""From what a search found to a reply. `extract` needs no model; `write` asks one and checks what it cites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from assay.answer import extractive
from assay.answer.citations import Citations
from assay.answer.extractive import Question, choose, confidence, understood
from assay.answer.model import REFUSED, Chat, chat, messages
from assay.answer.reply import Reply, Searched, Source, refusal, source
from assay.config.configuration import AskSettings
from assay.search.search import Found, Search
from assay.store.layout import decode, read_bytes
from assay.store.passages import Passages
from assay.text.display import printable

PASSAGES = 10  # that are looked at for an answer
_READ = 6  # of them that a model is given
_UNGROUNDED = "The model's answer cites none of the passages it was given, so it is left out."
_DECLINED = "The model finds no answer in the passages it was given."


def answered(
    text: str,
    found: Sequence[Found],
    search: Search,
    settings: AskSettings,
    show: Callable[[str], None] | None = None,
) -> Reply:
    """The reply to a question, as it is settled."""
    question = understood(text, search)
    if not settings.model:
        return extract(question, found, search.extent, settings.threshold)
    model = chat(settings.model, settings.model_key_variable)
    return write(question, found, search.extent, settings.threshold, model, show)


def extract(question: Question, found: Sequence[Found], corpus: str, threshold: float) -> Reply:
    """An answer of excerpts, or a refusal where that is less sure than the threshold."""
    searched = Searched(corpus, tuple(dict.fromkeys(one.place for one in found)), question.unseen)
    chosen = choose(question, found)
    sure = confidence(question, found)
    if sure < threshold or not chosen:
        return Reply(question.text, refusal(searched), False, sure, threshold, (), searched)
    text, sources = extractive.said(chosen)
    return Reply(question.text, text, True, sure, threshold, sources, searched)


def write(
    question: Question,
    found: Sequence[Found],
    corpus: str,
    threshold: float,
    model: Chat,
    show: Callable[[str], None] | None = None,
) -> Reply:
    """An answer that a model writes, shown as it comes; a refusal where nothing found is good enough to ask it, or it cites nothing."""
    plain = extract(question, found, corpus, threshold)
    name = model.server.name
    if not plain.grounded:
        return plain
    given = found[:_READ]
    citations = Citations(frozenset(range(1, len(given) + 1)))
    text = _heard(model.text(messages(question.text, given)), citations, show)
    if not citations.used and not model.problem:
        why = _DECLINED if _declines(text) else _UNGROUNDED
        said = refusal(plain.searched, why)
        return Reply(
            question.text, said, False, plain.confidence, threshold, (), plain.searched, tuple(citations.dropped), name
        )
    sources = tuple(
        source(number, given[number - 1], 0, given[number - 1].text.count("\n"), given[number - 1].text)
        for number in citations.used
    )
    return Reply(
        question.text, text, bool(citations.used), plain.confidence, threshold, sources, plain.searched,
        tuple(citations.dropped), name, model.problem,
    )  # fmt: skip


def _heard(bits: Iterator[str], citations: Citations, show: Callable[[str], None] | None) -> str:
    """What a model writes, without what it may not cite. It is shown as it comes, but not what may become a refusal."""
    text, shown = "", 0
    for bit in bits:
        text += citations.feed(printable(bit))
        if show and not REFUSED.startswith(text.strip()):
            show(text[shown:])
            shown = len(text)
    text += citations.finish()
    if show and not _declines(text):
        show(text[shown:])
    return text.strip()


def _declines(text: str) -> bool:
    return text.strip(" \n.!*") == REFUSED


# Whether a citation resolves: its span is in the document and says what is quoted.

_MADE = frozenset({"html", "pdf", "docx", "notebook"})  # formats whose text is made of the file: their passages have it
_LIMIT = 64 << 20  # bytes that are read of a file


def resolves(source: Source, root: Path, passages: Passages) -> bool:
    """Reads the lines of the file; of a format whose text is made of it, the passage that is cited."""
    if source.language in _MADE:
        return _in_passages(source, passages)
    try:
        lines = decode(read_bytes(root, source.path, _LIMIT)).data.decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    cited = [line.rstrip() for line in lines[source.start - 1 : source.end]]
    return bool(cited) and cited == [line.rstrip() for line in source.text.split("\n")]


def _in_passages(source: Source, passages: Passages) -> bool:
    if source.path not in passages.paths:
        return False
    numbers = np.flatnonzero(passages.documents == passages.paths.index(source.path)).tolist()
    return any(passages[number].id == source.id and source.text in passages[number].text for number in numbers)
