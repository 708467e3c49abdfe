"""The words of a file's items, counted by term and field; those of its path are added when it is known where the file stands."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np

from assay.index.facts import SymbolFact, TextFact, WordFacts
from assay.store import postings
from assay.text.terms import END, pieces, terms, terms_of

_MOST, _LONGEST = 255, 65_535  # a count and a length that their types can hold


def count_words(symbols: list[SymbolFact], texts: list[TextFact]) -> WordFacts:
    """The words of a file's items by themselves: its symbols, and last the file, whose name is part of its path."""
    vocabulary, codes, slots = _terms_by_slot(f" {END} ".join(_fields(symbols, texts)))
    width, size = len(postings.FIELDS), max(len(vocabulary), 1)
    items, fields = np.divmod(slots, width)
    cells, times = np.unique((items * size + codes) * width + fields, return_counts=True)
    pairs = cells // width  # of an item and a term, once for every field that has it
    begins = np.diff(pairs, prepend=-1) > 0
    keys = pairs[begins]
    counts = np.zeros((len(keys), width), "u1")
    counts[np.cumsum(begins) - 1, cells % width] = np.minimum(times, _MOST)
    lengths = np.bincount(slots, minlength=len(texts) * width)
    return WordFacts(
        vocabulary,
        (keys % size).astype("<i4").tobytes(),
        counts.tobytes(),
        np.bincount(keys // size, minlength=len(texts)).astype("<i4").tobytes(),
        np.minimum(lengths, _LONGEST).astype("<u2").tobytes(),
    )


def _terms_by_slot(text: str) -> tuple[list[str], postings.Array, postings.Array]:
    """The distinct terms of texts that END stands between, and for every term said its place among them and the number of its text.

    A file says the same identifiers again and again: each is looked at once, all else is arithmetic.
    """
    said = pieces(text)
    distinct = {piece: place for place, piece in enumerate(dict.fromkeys(said))}
    places = np.fromiter(map(distinct.__getitem__, said), "i8", len(said))
    terms_each = list(terms_of(distinct))
    flat = list(chain.from_iterable(terms_each))
    vocabulary = {term: place for place, term in enumerate(dict.fromkeys(flat))}
    codes = np.fromiter(map(vocabulary.__getitem__, flat), "i8", len(flat))
    sizes = np.fromiter(map(len, terms_each), "i8", len(terms_each))
    firsts, many = (np.cumsum(sizes) - sizes)[places], sizes[places]
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    slots = np.repeat(np.cumsum(places == distinct.get(END, -1)), many)
    return list(vocabulary), codes[np.repeat(firsts, many) + within], slots


def _fields(symbols: list[SymbolFact], texts: list[TextFact]) -> Iterable[str]:
    """The texts of every item in the order of the fields; nothing for what only the path tells."""
    names = [(s.name, s.symbol.removesuffix(s.name)) for s in symbols]
    for (name, qualifier), text in zip([*names, ("", "")], texts, strict=True):
        yield from (name, qualifier, "", text.signature, text.doc, text.identifiers, text.literals)


def place_words(facts: WordFacts, path: str, numbers: list[int]) -> list[postings.Words]:
    """Counted words under the numbers of their items (those of the symbols, then the file's), and the words of the path, which all of them share."""
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
    counts[:, :, postings.PATH] = np.minimum(list(in_path.values()), _MOST)
    counts[-1, :, postings.NAME] = [min(in_name[term], _MOST) for term in in_path]
    shared = postings.Words(
        list(in_path),
        np.tile(np.arange(len(in_path), dtype="<i4"), len(items)),
        np.repeat(items, len(in_path)),
        counts.reshape(-1, width),
        items[:0],
        lengths[:0],
    )
    return [own, shared]
