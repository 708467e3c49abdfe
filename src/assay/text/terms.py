"""Text → terms: stemmed words, the same for code, comments and queries.

The stemmer is Snowball 3's English algorithm (https://snowballstem.org/algorithms/english/stemmer.html); tests compare
it with the reference implementation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import chain


def _endings(*rows: str) -> dict[str, str]:
    """Parse rows such as `ize: izer ization` into a map from ending to replacement."""
    return {ending: row.partition(":")[0] for row in rows for ending in row.partition(":")[2].split()}


_LAST_LETTERS = frozenset("cdegilmnrsty")  # last letters of all endings that are removed
_VOWELS = frozenset("aeiouy")
_VOWEL = re.compile("[aeiouy]")
# endings are removed after the first region (R1), some only after the second (R2)
_REGION = re.compile("[^aeiouy]*+[aeiouy]++[^aeiouy]")
_FIRST_REGION = re.compile(f"arsen|commun|emerg|gener|inter|later|organ|past|univers|{_REGION.pattern}")
_SHORT_SYLLABLE = re.compile("[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$")
_DOUBLES = frozenset({"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"})
_KEEP_ING = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_KEEP_EED = frozenset({"succ", "proc", "exc"})
_BEFORE_LI = frozenset("cdeghkmnrt")
_PAST = {"d": ("eed", "ed"), "g": ("ing",), "y": ("eedly", "edly", "ingly")}
# words with exceptional stems
_EXCEPTIONS = _endings(
    "andes: andes", "atlas: atlas", "bias: bias", "cosmos: cosmos", "howe: howe", "news: news", "sky: sky skies", "ski: skis",
    "earli: early", "gentl: gently", "idl: idly", "onli: only", "singl: singly", "ugli: ugly",
)  # fmt: skip
# endings of three rounds; the longest match applies
_LONG = _endings(
    "ize: ization izer", "ate: ational ation ator", "tion: tional", "ful: fulness fulli", "ous: ousness ousli", "ive: iveness iviti",
    "ble: biliti bli", "al: alism aliti alli", "ence: enci", "ance: anci", "able: abli", "ent: entli", "less: lessli", "og: ogist ogi", ": li",
)  # fmt: skip
_SHORTER = _endings("ic: icate iciti ical", "ate: ational", "tion: tional", "al: alize", ": ative ful ness")
_LAST = _endings(": al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the English stem of a lower-case word."""
    if len(word) < 3 or word[-1] not in _LAST_LETTERS:
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    marked = "y" in word
    if marked:
        word = _consonants_marked(word)
    region = _FIRST_REGION.match(word)
    first = region.end() if region else len(word)
    region = _REGION.match(word, first)
    second = region.end() if region else len(word)
    word = _without_past(_without_plural(word), first)
    if word[-1] in "yY" and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _without_long(word, first)
    word = _without_shorter(word, first, second)
    word = _without_last(word, first, second)
    return word.replace("Y", "y") if marked else word


def _consonants_marked(word: str) -> str:
    """Capitalize every y that is a consonant: at the start or after a vowel."""
    letters = list(word)
    for place, letter in enumerate(letters):
        if letter == "y" and (place == 0 or letters[place - 1] in _VOWELS):
            letters[place] = "Y"
    return "".join(letters)


def _without_plural(word: str) -> str:
    if word[-1] != "s":
        return word[: -2 if len(word) > 4 else -1] if word.endswith("ied") else word
    if word.endswith(("ss", "us")):
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[: -2 if len(word) > 4 else -1]
    return word[:-1] if _VOWEL.search(word, 0, len(word) - 2) else word


def _without_past(word: str, first: int) -> str:
    """Remove -ed, -ing and the like, restoring a final e where needed."""
    ending = next((suffix for suffix in _PAST.get(word[-1], ()) if word.endswith(suffix)), "")
    start = word[: -len(ending)] if ending else ""
    if ending in ("eed", "eedly"):
        return f"{start}ee" if first <= len(start) and start not in _KEEP_EED else word
    if ending == "ing":
        if start in _KEEP_ING:
            return word
        if len(start) == 2 and start[1] == "y" and start[0] not in _VOWELS:
            return f"{start[0]}ie"
    if not ending or not _VOWEL.search(start):
        return word
    if start.endswith(("at", "bl", "iz")):
        return f"{start}e"
    if start[-2:] in _DOUBLES:
        return start if len(start) == 3 and start[0] in "aeo" else start[:-1]
    return f"{start}e" if len(start) == first and _SHORT_SYLLABLE.search(start) else start


def _without_long(word: str, first: int) -> str:
    ending = _longest(word, _LONG)
    start = word[: len(word) - len(ending)]
    stays = (ending == "li" and start[-1:] not in _BEFORE_LI) or (ending == "ogi" and start[-1:] != "l")
    return start + _LONG[ending] if ending and first <= len(start) and not stays else word


def _without_shorter(word: str, first: int, second: int) -> str:
    ending = _longest(word, _SHORTER)
    start = word[: len(word) - len(ending)]
    return start + _SHORTER[ending] if ending and (second if ending == "ative" else first) <= len(start) else word


def _without_last(word: str, first: int, second: int) -> str:
    ending = _longest(word, _LAST)
    start = word[: len(word) - len(ending)]
    if ending and second <= len(start) and (ending != "ion" or start[-1] in "st"):
        word = start
    start = word[:-1]
    if word[-1] == "e":
        return start if second <= len(start) or (first <= len(start) and not _SHORT_SYLLABLE.search(start)) else word
    return start if word[-2:] == "ll" and second <= len(start) else word


def _longest(word: str, endings: dict[str, str]) -> str:
    """Return the longest of these endings that a word has; empty if none."""
    for size in range(min(7, len(word)), 1, -1):
        if word[-size:] in endings:
            return word[-size:]
    return ""


# Identifiers and spelling suggestions

_NAME_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+"
)  # letters of other scripts count as lower case

# Comparison is quadratic in length. Longer names are pasted text or data, not typos.
LONGEST_NAME = 200
_MIN_RATIO = 0.6  # similarity from which a name may be a typo of another


@lru_cache(maxsize=1 << 14)
def words(identifier: str) -> tuple[str, ...]:
    """Split an identifier: `parseHTTPHeader_v2` → parse, http, header, v, 2."""
    return tuple(piece.lower() for piece in _NAME_PIECE.findall(identifier))


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Return the names most similar to `name`, by shared words or edit similarity, best first."""
    if len(name) > LONGEST_NAME:
        return []
    import difflib  # only for suggestions

    name_words, lower = set(words(name)), name.lower()
    matcher = difflib.SequenceMatcher(None, "", lower, autojunk=False)  # caches data about the second sequence
    scored: list[tuple[float, str]] = []
    for candidate in set(names):
        if len(candidate) > LONGEST_NAME:
            continue
        shared = len(name_words.intersection(words(candidate)))
        matcher.set_seq1(candidate.lower())
        if shared or (matcher.real_quick_ratio() > _MIN_RATIO and matcher.quick_ratio() > _MIN_RATIO):
            ratio = matcher.ratio()
            if shared or ratio > _MIN_RATIO:
                scored.append((shared / (len(name_words) or 1) + ratio, candidate))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:limit]]


# Terms

END = "\0"  # a piece without terms, to separate texts that are split together
_PIECE = re.compile(rf"[\w{END}]+")
_SEPARATORS_TO_SPACES = "".join(
    letter if letter.isalnum() or letter in f"_{END}" else " " for letter in map(chr, range(128))
)
_MAX_CACHED = 1 << 16  # identifiers; per worker process


def terms(text: str) -> list[str]:
    """Return the terms of a text: `parsedHeaders of an HTTPRequest` → pars, header, of, an, http, request.

    Stop words stay.
    """
    return list(chain.from_iterable(terms_of(pieces(text))))


def pieces(text: str) -> list[str]:
    """Return the identifiers and numbers of a text."""
    return text.translate(_SEPARATORS_TO_SPACES).split() if text.isascii() else _PIECE.findall(text)


def terms_of(identifiers: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the terms of each identifier."""
    if len(_term_cache) > _MAX_CACHED:
        _term_cache.clear()
    return map(_term_cache.__getitem__, identifiers)


class _TermCache(dict[str, tuple[str, ...]]):
    """Cache of identifier terms; a dict, because its lookup is three times as fast as a cached function."""

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        stems = self[identifier] = tuple(map(stem, words(identifier)))
        return stems


_term_cache = _TermCache()


# Stop words: they carry no information in a question or an answer

_WORD = re.compile(r"[^\W_]+")
COMMON = frozenset(
    _WORD.findall(
        """
        a about actually after again all also always am an and another any anybody anyone anything are aren as at be because been before
        being best better between both but by can cannot could d did didn different do does doesn doing don done during each eight either
        eleven else even ever every everybody everything exactly few fifteen first five for four from get gets getting give gives go goes
        going good got had happen happens has have having he her here him his how however hundred i if in instead into is isn it its
        itself just know last least less let like ll long look looks lot m made make makes many may me mean means might more most much
        must my myself need needs never nine no nor not nothing now of off often on once one ones only or other others otherwise our out
        over own per please possible rather re really s same say second see seven several shall she should since six so some somebody
        someone something still such sure t take takes tell ten than that the their them then there these they thing things third this
        those though thousand three through to together too try trying twelve twenty two under until up us use used useful uses using ve
        very via want wanted wants was wasn way ways we well were what when where whether which while who whole whom whose why will with
        within without won work works would yes yet you your zero
        """
    )
)


def telling_terms(text: str) -> set[str]:
    """Return the terms of words that are not common."""
    return {term for word in _WORD.findall(text) if word.lower() not in COMMON for term in terms(word)}


def marked(text: str, words: Collection[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each flagged if it is an identifier with one of the terms `words`."""
    return pieces_at(text, matching_spans(text, words))


def matching_spans(text: str, words: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans of the identifiers that have one of the terms `words`."""
    return [match.span() for match in _PIECE.finditer(text) if not set(terms(match[0])).isdisjoint(words)]


def pieces_at(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """Split a text at ascending spans; the pieces inside them are flagged."""
    out, at = list[tuple[str, bool]](), 0
    for start, end in spans:
        out += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [piece for piece in [*out, (text[at:], False)] if piece[0]]
