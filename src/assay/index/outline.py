"""Named definitions of a source text, and definitions removed by a change."""

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
    """Return the named definitions of a source text with their documentation, using the indexing extractor."""
    extracted = parser.extract(path, text.encode())
    if extracted is None:
        return []
    symbols, texts = decode_facts(extracted.facts).symbols, decode_texts(extracted.texts).texts
    return [
        (fact, words.doc)
        for fact, words in zip(symbols, texts, strict=False)  # the last text is the file's
        if not _ANONYMOUS.search(fact.symbol)
    ]


def removed(git: Git, root: Path, changes: list[Change]) -> dict[str, list[SymbolFact]]:
    """Return the definitions that a change removed from each file, by its current path."""
    candidates = [change for change in changes if change.old_blob and _removes_definitions(change)]
    if not candidates:
        return {}
    out: dict[str, list[SymbolFact]] = {}
    with git.blobs() as blobs, TextParser() as parser:
        for change in candidates:
            source = read_source(root, change.path, whole=True)
            current = {fact.symbol for fact, _ in outline(parser, change.path, source.data.decode())}
            old = outline(parser, change.before or change.path, blobs.text(change.old_blob))
            out[change.path] = [fact for fact, _ in old if fact.symbol not in current]
    return {path: facts for path, facts in out.items() if facts}


def _removes_definitions(change: Change) -> bool:
    """Return whether a removed line looks like a definition: only then are both texts parsed."""
    path = change.before or change.path
    return any(
        True
        for hunk in change.hunks
        for _ in hunks.changed_names(path, "", [line.decode("utf-8", "replace") for line in hunk.removed])
    )
