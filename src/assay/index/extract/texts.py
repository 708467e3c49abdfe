"""Text fields of a file's symbols and their term counts, as input for full-text search."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np

from assay.index.extract.collect import Captures, Definition
from assay.index.extract.nest import Nesting
from assay.index.facts import FILE, SymbolFact, TextFact, WordFacts
from assay.store import postings
from assay.store.arrays import Array
from assay.text.terms import END, pieces, terms, terms_of

MAX_SIGNATURE = 300
MAX_DOC = 3000
MAX_LITERAL = 200  # bytes per literal
MAX_WORDS = 6000  # characters per symbol, of body identifiers and of literals each
_LITERALS = re.compile(rb'("[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|\'[^\'\\\n]*+(?:\\.[^\'\\\n]*+)*+\'|`[^`]*+`)')
_IDENTIFIERS = re.compile(rb"[^\W\d]\w+")
_COMMENT_MARKS = re.compile(r"^\s*(?:///?!?|//!|#+!?|/\*+!?|\*+/?|--+|;+|<!--)\s?|\s*\*+/\s*$|\s*-->\s*$")
_MAX_COUNT, _MAX_LENGTH = 255, 65_535  # limits of their integer types, u1 and u2


def build_texts(captures: Captures, nesting: Nesting, symbols: list[SymbolFact]) -> list[TextFact]:
    """Return the texts of every symbol, then of the file itself."""
    docs = dict.fromkeys(range(len(symbols)), "")
    rows = sorted(captures.docs)
    file_doc = ""
    for (start, text), owner in zip(rows, nesting.enclosing_definitions([r[0] for r in rows]), strict=True):
        source = nesting.symbol_at(owner, start, True)
        if source == FILE:
            file_doc = file_doc or text[:MAX_DOC]
        elif not docs[source]:
            docs[source] = text[:MAX_DOC]
    definitions = [d for d in nesting.order if d.index != FILE]
    definitions.sort(key=lambda d: d.index)
    roots: list[tuple[int, int]] = []
    for definition in definitions:
        at = nesting.nearest_symbol(definition.parent)
        (nesting.order[at].children if at != FILE else roots).append((definition.start, definition.end))
    out = []
    for definition in definitions:
        identifiers, literals = _split_words(
            captures.source, max(definition.body, definition.name_start), definition.end, definition.children
        )
        doc = docs[definition.index] or _leading_comment(captures, definition.start)
        out.append(TextFact(_signature(captures, definition), doc, identifiers, literals))
    identifiers, literals = _split_words(captures.source, 0, len(captures.source), roots)
    out.append(TextFact("", file_doc or _opening_comment(captures), identifiers, literals))
    return out


def _split_words(source: bytes, start: int, end: int, holes: list[tuple[int, int]]) -> tuple[str, str]:
    """Return the identifiers and the literals between two offsets, without those in the holes."""
    pieces, size = list[bytes](), 0
    for hole_start, hole_end in [*sorted(holes), (end, end)]:
        if hole_start > start and size < 4 * MAX_WORDS:
            pieces.append(source[start:hole_start])
            size += hole_start - start
        start = max(start, hole_end)
    text = b" ".join(pieces)[: 4 * MAX_WORDS]
    parts = _LITERALS.split(text)  # alternates code and literals
    literals = [quoted[1:-1][:MAX_LITERAL] for quoted in parts[1::2]]
    return _join(_IDENTIFIERS.findall(b" ".join(parts[::2]))), _join(literals)


def _signature(captures: Captures, definition: Definition) -> str:
    start = captures.line_starts[captures.line(definition.name_start) - 1]
    end = definition.body or definition.end
    if end <= start or not definition.body:
        newline = captures.source.find(b"\n", definition.name_start)
        end = min(definition.end, newline) if newline > 0 else definition.end
    text = captures.source[max(start, definition.start) : min(end, start + 2000)].decode("utf-8", "replace")
    return " ".join(text.split()).rstrip("{:").strip()[:MAX_SIGNATURE]


def _leading_comment(captures: Captures, start: int) -> str:
    """Return the comment that ends on the line above, without comment marks."""
    at = captures.line(start) - 2
    lines: list[str] = []
    while at >= 0 and len(lines) < 60:
        raw = captures.source[captures.line_starts[at] : captures.line_starts[at + 1]].decode("utf-8", "replace")
        text = raw.strip()
        if not (
            text.startswith(captures.language.comments) or (text.endswith("*/") and "/*" in captures.language.comments)
        ):
            break
        lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
        at -= 1
    return "\n".join(reversed(lines)).strip()[:MAX_DOC]


def _opening_comment(captures: Captures) -> str:
    """Return the comment at the start of the file, without comment marks."""
    lines: list[str] = []
    for raw in captures.source[:MAX_DOC].decode("utf-8", "replace").splitlines()[:40]:
        text = raw.strip()
        if not text.startswith(captures.language.comments):
            break
        lines.append(_COMMENT_MARKS.sub("", raw.rstrip()))
    return "\n".join(lines).strip()


def _join(words: list[bytes]) -> str:
    return b" ".join(words)[:MAX_WORDS].decode("utf-8", "replace")


# Terms


def count_words(symbols: list[SymbolFact], texts: list[TextFact]) -> WordFacts:
    """Count the terms of a file's symbols, then of the file itself, whose name is part of its path."""
    vocabulary, codes, slots = _terms_by_slot(f" {END} ".join(_fields(symbols, texts)))
    width, size = len(postings.FIELDS), max(len(vocabulary), 1)
    items, fields = np.divmod(slots, width)
    cells, frequencies = np.unique((items * size + codes) * width + fields, return_counts=True)
    pairs = cells // width  # (item, term) pairs, one per field that contains the term
    begins = np.diff(pairs, prepend=-1) > 0
    keys = pairs[begins]
    counts = np.zeros((len(keys), width), "u1")
    counts[np.cumsum(begins) - 1, cells % width] = np.minimum(frequencies, _MAX_COUNT)
    lengths = np.bincount(slots, minlength=len(texts) * width)
    return WordFacts(
        vocabulary,
        (keys % size).astype("<i4").tobytes(),
        counts.tobytes(),
        np.bincount(keys // size, minlength=len(texts)).astype("<i4").tobytes(),
        np.minimum(lengths, _MAX_LENGTH).astype("<u2").tobytes(),
    )


def _terms_by_slot(text: str) -> tuple[list[str], Array, Array]:
    """Return the distinct terms of texts separated by END, and the vocabulary index and text number of each occurrence.

    A file repeats its identifiers: each distinct one is tokenized once, the rest is array arithmetic.
    """
    tokens = pieces(text)
    distinct = {token: code for code, token in enumerate(dict.fromkeys(tokens))}
    token_codes = np.fromiter(map(distinct.__getitem__, tokens), "i8", len(tokens))
    terms_each = list(terms_of(distinct))
    flat = list(chain.from_iterable(terms_each))
    vocabulary = {term: code for code, term in enumerate(dict.fromkeys(flat))}
    codes = np.fromiter(map(vocabulary.__getitem__, flat), "i8", len(flat))
    sizes = np.fromiter(map(len, terms_each), "i8", len(terms_each))
    firsts, term_counts = (np.cumsum(sizes) - sizes)[token_codes], sizes[token_codes]
    within = np.arange(term_counts.sum()) - np.repeat(np.cumsum(term_counts) - term_counts, term_counts)
    slots = np.repeat(np.cumsum(token_codes == distinct.get(END, -1)), term_counts)
    return list(vocabulary), codes[np.repeat(firsts, term_counts) + within], slots


def _fields(symbols: list[SymbolFact], texts: list[TextFact]) -> Iterable[str]:
    """Yield the texts of every item in the order of the fields; empty for the path, which is added later."""
    names = [(s.name, s.symbol.removesuffix(s.name)) for s in symbols]
    for (name, qualifier), text in zip([*names, ("", "")], texts, strict=True):
        yield from (name, qualifier, "", text.signature, text.doc, text.identifiers, text.literals)


def place_words(facts: WordFacts, path: str, numbers: list[int]) -> list[postings.Words]:
    """Return the term counts under the items' numbers (symbols, then the file), and those of the path they share."""
    width = len(postings.FIELDS)
    items = np.array(numbers, "<i4")
    in_path, in_name = Counter(terms(path)), Counter(terms(path.rpartition("/")[2]))
    lengths = np.frombuffer(facts.lengths, "<u2").reshape(-1, width).copy()
    lengths[:, postings.PATH], lengths[-1, postings.NAME] = in_path.total(), in_name.total()
    own = postings.Words(
        list(map(sys.intern, facts.vocabulary)),  # files share most of their terms
        np.frombuffer(facts.terms, "<i4"),
        np.repeat(items, np.frombuffer(facts.rows, "<i4")),
        np.frombuffer(facts.counts, "u1").reshape(-1, width),
        items,
        lengths,
    )
    counts = np.zeros((len(items), len(in_path), width), "u1")
    counts[:, :, postings.PATH] = np.minimum(list(in_path.values()), _MAX_COUNT)
    counts[-1, :, postings.NAME] = [min(in_name[term], _MAX_COUNT) for term in in_path]
    shared = postings.Words(
        list(in_path),
        np.tile(np.arange(len(in_path), dtype="<i4"), len(items)),
        np.repeat(items, len(in_path)),
        counts.reshape(-1, width),
        items[:0],
        lengths[:0],
    )
    return [own, shared]
