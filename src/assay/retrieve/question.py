"""The words a question is searched by. Unlike in a task for code, what is to be done counts: documents tell how to remove and create things."""

from __future__ import annotations

import re

from assay.retrieve.lexical import COMMON
from assay.retrieve.vocabulary import word_set
from assay.text.irregular import base_of
from assay.text.terms import terms

# whom a question is about, and what is left of `don't` and `it's`: rare in documents, so they would count most. `why` stays: answers are headed so.
_NOBODY = word_set(
    "my me mine our ours us your yours he she him her his hers them one ones but am been being did had s t d m ll ve re don doesn didn isn"
)
_LEFT_OUT = COMMON | _NOBODY
_WORD = re.compile(r"\w+")


def question_terms(question: str) -> dict[str, int]:
    """The stems of its words, each counted once; of an irregular form also those of the word it belongs to."""
    found = (
        term
        for word in _WORD.findall(question)
        if word.lower() not in _LEFT_OUT
        for term in (*terms(word), *terms(base_of(word)))
    )
    return {term: 1 for term in found if term not in _LEFT_OUT}
