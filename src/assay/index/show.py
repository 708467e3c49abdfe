"""`python -m assay.index.show FILE`: print the facts extracted from a file. For writing query files."""

from __future__ import annotations

import sys
from pathlib import Path

from assay.index.extract import extract
from assay.index.facts import FILE, decode_bindings, decode_facts, decode_references, decode_texts
from assay.languages import language_of

_ROLES = ("call", "new", "mention", "access", "hint", "throw", "decorate", "base", "implements")


def show(path: str) -> None:
    """Print the extracted facts of a file."""
    language = language_of(path)
    if language is None:
        sys.exit(f"{path}: not a known source file extension")
    extracted = extract(Path(path).read_bytes(), language)
    facts, texts = decode_facts(extracted.facts), decode_texts(extracted.texts).texts

    def name(index: int) -> str:
        return facts.symbols[index].symbol if index != FILE else "(file)"

    for symbol, text in zip(facts.symbols, texts, strict=False):
        print(
            f"{symbol.kind:12} {symbol.symbol}  {symbol.start}-{symbol.end}  {text.signature!r}  type={symbol.type!r} values={symbol.values}"
        )
    for row in [*facts.supertypes, *decode_references(facts.references)]:
        print(f"{_ROLES[row.role]:12} {row.line:4} {name(row.source)} → {row.chain} {row.literal}")
    for imported in facts.imports:
        print(f"import       {imported.line:4} {imported}")
    for binding in decode_bindings(facts.bindings):
        print(
            f"local        {binding.line:4} {name(binding.source)}: {binding.name} type={binding.type!r} value={binding.value!r}"
        )
    print(f"namespace={facts.namespace!r} syntax errors={facts.errors}")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        show(argument)
