"""Extract the facts of a parsed file: definitions, references, imports, bindings and texts.

`collect` runs the language's query (`protobuf` reads a language without a grammar), `nest` recovers containment from
positions, `symbols`, `references`, `services` and `texts` make the facts from both. Nothing here depends on a particular
language.
"""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Tree

from assay.index.extract.collect import Captures
from assay.index.extract.nest import Nesting
from assay.index.extract.protobuf import read_protobuf
from assay.index.extract.references import build_references
from assay.index.extract.services import build_services
from assay.index.extract.symbols import SymbolBuilder, build_bindings
from assay.index.extract.syntax import count_errors, parse
from assay.index.extract.texts import build_texts, count_words
from assay.index.facts import BASE, IMPLEMENTS, Extracted, FileFacts, FileTexts, Import, encode, encoded
from assay.languages import Language, by_name

_SUPERTYPES = frozenset({BASE, IMPLEMENTS})
# readers of languages without a grammar, by `Language.reader`: they fill the captures and return the number of errors
_READERS: dict[str, Callable[[Captures], int]] = {"protobuf": read_protobuf}


def extract(source: bytes, language: Language, flags: tuple[str, ...] = ()) -> Extracted:
    """Return the encoded facts of a source text. Never fails on bad code: the parser recovers and counts errors.

    `flags` are the names of calls that ask for a feature flag, beside those of known libraries.
    """
    captures, tree, errors = read_captures(source, language)
    nesting = Nesting(captures)
    symbols = SymbolBuilder(captures, nesting).build()
    bindings = build_bindings(captures, nesting, symbols)
    references, _ = build_references(captures, nesting, bindings)
    facts = FileFacts(
        captures.language.name,
        captures.namespace,
        symbols,
        [row for row in references if row.role in _SUPERTYPES],
        _build_imports(captures, nesting),
        encoded([row for row in references if row.role not in _SUPERTYPES]),
        encoded(bindings),
        errors,
        build_services(captures, nesting, symbols, tree, flags) if tree is not None else [],
    )
    texts = build_texts(captures, nesting, symbols)
    counted = FileTexts(texts, count_words(symbols, texts))
    return Extracted(encode(facts), encode(counted), source.count(b"\n") + 1)


def read_captures(source: bytes, language: Language) -> tuple[Captures, Tree | None, int]:
    """Return the captures of a source text by the language's query or its reader, its tree, and the number of errors."""
    if language.reader:
        captures = Captures(source, language)
        return captures, None, _READERS[language.reader](captures)
    tree, errors, language = _parse(source, language)
    captures = Captures(source, language)
    captures.read(tree)
    return captures, tree, errors


def _parse(source: bytes, language: Language) -> tuple[Tree, int, Language]:
    """Parse a source text, with the language's fallback if that has fewer errors; return the language that was used."""
    tree = parse(source, language)
    errors = count_errors(tree.root_node)
    if errors and language.fallback:
        other = by_name()[language.fallback]
        other_tree = parse(source, other)
        if (other_errors := count_errors(other_tree.root_node)) < errors:
            return other_tree, other_errors, other
    return tree, errors, language


def _build_imports(captures: Captures, nesting: Nesting) -> list[Import]:
    rows = sorted(captures.imports)
    owners = nesting.enclosing_definitions([row[0] for row in rows])
    return [
        Import(captures.line(start), module, name, alias, export, nesting.symbol_at(owner, start, False))
        for (start, module, name, alias, export), owner in zip(rows, owners, strict=True)
    ]
