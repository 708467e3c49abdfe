"""Whether a text is English prose: translations and lists of data would cost more than all the rest, and no English task is answered by them."""

from __future__ import annotations

# words that every English text has, and neither code nor other languages do
_COMMON = frozenset(
    [
        "the",
        "of",
        "to",
        "that",
        "this",
        "you",
        "be",
        "it",
        "are",
        "can",
        "will",
        "which",
        "when",
        "by",
        "your",
        "have",
        "has",
    ]
)
_SHARE = 0.01  # of common words: 0.19 in the median of English guides, 0.003 in translations and lists of versions
_FEWEST = 100  # words: a shorter text may lack them by chance
_LOOKED_AT = 20_000  # characters


def is_prose(text: str) -> bool:
    words = text[:_LOOKED_AT].lower().split()
    return len(words) < _FEWEST or sum(word in _COMMON for word in words) >= _SHARE * len(words)
