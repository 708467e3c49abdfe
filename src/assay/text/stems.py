"""English words without their endings: the algorithm of Snowball 3 (https://snowballstem.org/algorithms/english/stemmer.html).

Written out here because its generated Python takes five times as long, and because question and index must agree on every stem.
"""

from __future__ import annotations

import re
from functools import lru_cache


def _endings(*rows: str) -> dict[str, str]:
    """What becomes of each ending: `ize: izer ization` says it of two."""
    return {ending: row.partition(":")[0] for row in rows for ending in row.partition(":")[2].split()}


_CHANGING = frozenset("cdegilmnrsty")  # every ending that a stem is without ends so
_VOWELS = frozenset("aeiouy")
_VOWEL = re.compile("[aeiouy]")
# endings are taken off behind the first region, some only behind the second
_REGION = re.compile("[^aeiouy]*+[aeiouy]++[^aeiouy]")
_FIRST_REGION = re.compile(f"arsen|commun|emerg|gener|inter|later|organ|past|univers|{_REGION.pattern}")
_SHORT_SYLLABLE = re.compile("[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$")
_DOUBLES = frozenset({"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"})
_STAY_BEFORE_ING = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_STAY_BEFORE_EED = frozenset({"succ", "proc", "exc"})
_BEFORE_LI = frozenset("cdeghkmnrt")
_PAST = {"d": ("eed", "ed"), "g": ("ing",), "y": ("eedly", "edly", "ingly")}
# words that are no word with an ending
_WHOLE = _endings(
    "andes: andes", "atlas: atlas", "bias: bias", "cosmos: cosmos", "howe: howe", "news: news", "sky: sky skies", "ski: skis",
    "earli: early", "gentl: gently", "idl: idly", "onli: only", "singl: singly", "ugli: ugly",
)  # fmt: skip
# endings in three rounds; of several that fit the longest counts
_LONG = _endings(
    "ize: ization izer", "ate: ational ation ator", "tion: tional", "ful: fulness fulli", "ous: ousness ousli", "ive: iveness iviti",
    "ble: biliti bli", "al: alism aliti alli", "ence: enci", "ance: anci", "able: abli", "ent: entli", "less: lessli", "og: ogist ogi", ": li",
)  # fmt: skip
_SHORTER = _endings("ic: icate iciti ical", "ate: ational", "tion: tional", "al: alize", ": ative ful ness")
_LAST = _endings(": al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A lower-case word of letters without its English endings."""
    if len(word) < 3 or word[-1] not in _CHANGING:
        return word
    if word in _WHOLE:
        return _WHOLE[word]
    marked = "y" in word
    if marked:
        word = _consonants_marked(word)
    found = _FIRST_REGION.match(word)
    first = found.end() if found else len(word)
    found = _REGION.match(word, first)
    second = found.end() if found else len(word)
    word = _without_past(_without_plural(word), first)
    if word[-1] in "yY" and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _without_long(word, first)
    word = _without_shorter(word, first, second)
    word = _without_last(word, first, second)
    return word.replace("Y", "y") if marked else word


def _consonants_marked(word: str) -> str:
    """Every y that is a consonant, at the beginning or after a vowel, as a capital."""
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
    """Without -ed, -ing and the like; what is left may want its e back."""
    ending = next((one for one in _PAST.get(word[-1], ()) if word.endswith(one)), "")
    start = word[: -len(ending)] if ending else ""
    if ending in ("eed", "eedly"):
        return f"{start}ee" if first <= len(start) and start not in _STAY_BEFORE_EED else word
    if ending == "ing":
        if start in _STAY_BEFORE_ING:
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
    """The longest ending of a word that is one of these."""
    for size in range(min(7, len(word)), 1, -1):
        if word[-size:] in endings:
            return word[-size:]
    return ""
