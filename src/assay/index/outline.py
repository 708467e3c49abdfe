"""The named definitions of one text, and those that a change took away."""

from __future__ import annotations

import re
from pathlib import Path

from assay.git import Git
from assay.git.diff import Change
from assay.index import history as hunks
from assay.index.facts import SymbolFact, decode_facts, decode_texts
from assay.index.parse import TextParser
from assay.index.scan import read_source

_ANONYMOUS = re.compile(r"(^|\W)\$\d+")


def outline(parser: TextParser, path: str, text: str) -> list[tuple[SymbolFact, str]]:
    """The named definitions of a source text with their documentation, by the same extractor that indexes it."""
    extracted = parser.extract(path, text.encode())
    if extracted is None:
        return []
    symbols, texts = decode_facts(extracted.facts).symbols, decode_texts(extracted.texts).texts
    return [
        (fact, words.doc)
        for fact, words in zip(symbols, texts, strict=False)  # the last text is the file's own
        if not _ANONYMOUS.search(fact.symbol)
    ]


def removed(git: Git, root: Path, changes: list[Change]) -> dict[str, list[SymbolFact]]:
    """The definitions that were in files before they changed and are not now, by the path of the file now."""
    suspects = [change for change in changes if change.old_blob and _took_definitions(change)]
    if not suspects:
        return {}
    out: dict[str, list[SymbolFact]] = {}
    with git.blobs() as blobs, TextParser() as parser:
        for change in suspects:
            source = read_source(root, change.path, whole=True)
            left = {fact.symbol for fact, _ in outline(parser, change.path, source.data.decode())}
            old = outline(parser, change.before or change.path, blobs.text(change.old_blob))
            out[change.path] = [fact for fact, _ in old if fact.symbol not in left]
    return {path: facts for path, facts in out.items() if facts}


def _took_definitions(change: Change) -> bool:
    """Whether a removed line looks like a definition: only then is it worth parsing both texts."""
    path = change.before or change.path
    return any(
        True
        for hunk in change.hunks
        for _ in hunks.changed_names(path, "", [line.decode("utf-8", "replace") for line in hunk.removed])
    )
