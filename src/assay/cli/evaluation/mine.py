"""`assay eval mine`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click

from assay.cli.common import find_root, format_option, print_json
from assay.cli.progress import Bar
from assay.core.golden import GoldenQuery
from assay.evaluate.mine import (
    Definition,
    Mined,
    Options,
    mine_docstrings,
    mine_documents,
    mine_history,
    sample,
    split,
)
from assay.ingest.extract import extract
from assay.ingest.facts import decode_facts, decode_texts
from assay.ingest.languages import language_of
from assay.ingest.parser import ParseTimeout
from assay.ingest.walk import MAX_BYTES, is_test_path

_SOURCES: dict[str, Callable[..., Mined]] = {
    "history": mine_history,
    "docstrings": mine_docstrings,
    "documents": mine_documents,
}
_ANONYMOUS = re.compile(r"(^|\W)\$\d+")


def locate(path: str, text: str) -> list[Definition]:
    """The named definitions of a source text, by the same extractor that indexes it."""
    language = language_of(path)
    data = text.encode()
    if language is None or len(data) > MAX_BYTES:
        return []
    try:
        extracted = extract(data, language)
    except (ParseTimeout, RecursionError):
        return []
    symbols, texts = decode_facts(extracted.facts).symbols, decode_texts(extracted.texts)
    test = is_test_path(path)
    return [
        Definition(fact.symbol, fact.kind, fact.start, fact.end, words.doc, language.name, test or fact.test)
        for fact, words in zip(symbols, texts, strict=False)  # the last text is the file's own
        if not _ANONYMOUS.search(fact.symbol)
    ]
