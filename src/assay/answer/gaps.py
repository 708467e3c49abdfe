"""The sentence that says what the closest passages lack: words of the question that they do not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.answer.excerpts import Excerpt
from assay.answer.question import Question, Word
from assay.text.terms import terms

_MAX_WORDS = 3  # named of each kind, the rarest
_IN_ONE_PLACE = "no passage says all of this in one place"
_UNCERTAIN = "they have the words of the question, but it is not sure that they answer it"


def missing(question: Question, chosen: Sequence[Excerpt]) -> str:
    """Return what excerpts lack of a question, as a clause: words that nothing mentions, or that only others do."""
    texts = [{*terms(excerpt.text), *terms(" ".join(excerpt.found.headings))} for excerpt in chosen]
    absent = [word for word in question.words if not word.frequency]
    elsewhere = [word for word in question.words if word.frequency and not any(_has(text, word) for text in texts)]
    clauses = []
    if absent:
        clauses.append(f"nothing in this corpus mentions {listed(_rarest(absent))}")
    if elsewhere:
        clauses.append(f"none of them mentions {listed(_rarest(elsewhere))}")
    if not clauses:
        has_all = any(all(_has(text, word) for word in question.words) for text in texts)
        clauses.append(_UNCERTAIN if has_all else _IN_ONE_PLACE)
    return "; ".join(clauses)


def _has(text: Collection[str], word: Word) -> bool:
    return all(any(form in text for form in forms) for forms in word.parts)


def _rarest(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the rarest words as written, in the order of the question."""
    rarest = sorted(words, key=lambda word: -word.idf)[:_MAX_WORDS]
    return tuple(word.written for word in words if word in rarest)


def listed(words: Sequence[str]) -> str:
    """Quote and join words: “a”, “b” or “c”."""
    quoted = [f"“{word}”" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
