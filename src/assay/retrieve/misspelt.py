"""Names that a word may have meant which nothing here has."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice

from assay.store.index import Index
from assay.store.postings import NAME
from assay.text.terms import terms

_MISSPELT = 0.75  # the share of letters in common from which a word may be another one with a letter or two wrong
_LONGEST = 40  # letters of a stem: longer ones are data or text without blanks, not a word with a letter wrong
_COMPARED = 30  # words of a task that are compared with all others; each takes about 10 ms
_BEARERS = 100  # of a word that are looked at: the shortest of them say as much


def like(index: Index, unknown: Sequence[str], limit: int = 5) -> list[str]:
    """The names with a word that is most like one of these, best first, then shortest."""
    words = index.postings
    alike: dict[str, float] = {}
    stems = dict.fromkeys(stem for word in unknown for stem in terms(word) if len(stem) <= _LONGEST)
    for stem in islice(stems, _COMPARED):
        for near in difflib.get_close_matches(stem, words.terms_like(stem[:1]), limit, _MISSPELT):
            alike[near] = max(alike.get(near, 0.0), difflib.SequenceMatcher(None, near, stem).ratio())
    found: list[str] = []
    for near in sorted(alike, key=lambda near: (-alike[near], near)):
        items, counts = words.get(near)
        named = index.symbols_of(items[counts[:, NAME] > 0][:_BEARERS].tolist()).values()
        found += sorted({*filter(None, named)} - {*found}, key=lambda name: (len(name), name))
    return found[:limit]
