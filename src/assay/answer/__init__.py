"""Answering: from passages that a search found to an answer with citations, or a refusal.

    question(text, search)                 its words, and how much each tells in this corpus
    excerpts(question, found)              which sentences answer best
    confidence(question, found, excerpts)  how sure that is
    extract(…), write(…)                   a reply: of excerpts, or written by a model

All but `write` are pure functions of what was found.
"""

from __future__ import annotations

from assay.answer.answering import PASSAGES, extract, write
from assay.answer.confidence import confidence
from assay.answer.excerpts import Excerpt, excerpts
from assay.answer.question import Question, question
from assay.answer.reply import Reply, Searched, Source

__all__ = [
    "PASSAGES", "Excerpt", "Question", "Reply", "Searched", "Source",
    "confidence", "excerpts", "extract", "question", "write",
]  # fmt: skip
