"""Count the terms of a file's items by field; those of its path are added once the path is known."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np

from assay.index.facts import SymbolFact, TextFact, WordFacts
from assay.store import postings
from assay.store.arrays import Array
from assay.text.terms import END, pieces, terms, terms_of

_MAX_COUNT, _MAX_LENGTH = 255, 65_535  # limits of their integer types, u1 and u2


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
