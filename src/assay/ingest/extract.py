"""One file's text → its facts. Driven by the language's query; nothing here knows a particular language.

The query marks definitions, names and bindings anywhere in the tree (`collect`); their nesting is recovered from their
positions in one sweep (`nest`); then every name is given the symbol it belongs to (`reader`) and every symbol its
words (`texts`), which are counted here too (`words`): it is done once per content and on all cores.
"""

from __future__ import annotations

from assay.ingest import facts as F
from assay.ingest.languages import Language
from assay.ingest.parser import count_errors, parse
from assay.ingest.reader import FileReader
from assay.ingest.words import count_words


def extract(source: bytes, language: Language) -> F.Extracted:
    """Everything `source` says, encoded. Never fails on bad code: the parser recovers and errors are counted."""
    tree = parse(source, language)
    reader = FileReader(source, language)
    reader.read(tree)
    facts, texts = reader.facts()
    facts.errors = count_errors(tree.root_node)
    counted = F.FileTexts(texts, count_words(facts.symbols, texts))
    return F.Extracted(F.encode(facts), F.encode(counted), source.count(b"\n") + 1)
