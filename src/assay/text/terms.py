"""Text → terms: the stems of its words, the same for code, comments and questions.

The stemmer is Snowball 3's English algorithm (https://snowballstem.org/algorithms/english/stemmer.html), held to its own
implementation by the tests.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain


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


# Splitting identifiers into words, and the nearest existing names for a name that was not found.

_NAME_PIECE = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+"
)  # letters of other scripts count as small ones

# Comparing takes time with the product of two lengths. What is longer is pasted text or data, and nobody mistypes that.
LONGEST_NAME = 200
_ALIKE = 0.6  # share of letters in common from which a name may be another one mistyped


@lru_cache(maxsize=1 << 14)
def words(identifier: str) -> tuple[str, ...]:
    """`parseHTTPHeader_v2` → parse, http, header, v, 2."""
    return tuple(piece.lower() for piece in _NAME_PIECE.findall(identifier))


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Return the names most like `name`: those that share words with it or differ by a few letters, best first."""
    if len(name) > LONGEST_NAME:
        return []
    wanted, asked = set(words(name)), name.lower()
    close = difflib.SequenceMatcher(
        None, "", asked, autojunk=False
    )  # what is compared with all others is prepared once
    scored: list[tuple[float, str]] = []
    for candidate in set(names):
        if len(candidate) > LONGEST_NAME:
            continue
        shared = len(wanted.intersection(words(candidate)))
        close.set_seq1(candidate.lower())
        if shared or (close.real_quick_ratio() > _ALIKE and close.quick_ratio() > _ALIKE):
            ratio = close.ratio()
            if shared or ratio > _ALIKE:
                scored.append((shared / (len(wanted) or 1) + ratio, candidate))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:limit]]


# Text → terms: the stems of its words, the same for code, comments and questions.

END = "\0"  # a piece by itself and of no terms: it may stand between texts that are cut to pieces together
_PIECE = re.compile(rf"[\w{END}]+")
_SPACED = "".join(letter if letter.isalnum() or letter in f"_{END}" else " " for letter in map(chr, range(128)))
_MOST = 1 << 16  # identifiers remembered; every worker has its own


def terms(text: str) -> list[str]:
    """`parsedHeaders of an HTTPRequest` → pars, header, of, an, http, request. Stop words stay: what to leave out is the caller's matter."""
    return list(chain.from_iterable(terms_of(pieces(text))))


def pieces(text: str) -> list[str]:
    """The identifiers and numbers of a text."""
    return text.translate(_SPACED).split() if text.isascii() else _PIECE.findall(text)


def terms_of(identifiers: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The terms of each identifier."""
    if len(_known) > _MOST:
        _known.clear()
    return map(_known.__getitem__, identifiers)


class _Known(dict[str, tuple[str, ...]]):
    """The terms of the identifiers met; a dictionary, because it answers three times as fast as a cached function."""

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        found = self[identifier] = tuple(map(stem, words(identifier)))
        return found


_known = _Known()


# English words whose forms no ending tells: `kept` is a form of `keep`.

# a base form, then its other forms; those that are as often words of their own (`found`, `saw`, `set`) are left out
_FORMS = """
arise arose arisen|awake awoke|become became|begin began begun|bend bent|bind bound|bite bitten|bleed bled|blow blew blown
break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came
creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed
feel felt|fight fought|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|give gave given|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known
lay laid|lead led|lean leant|learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant|meet met|mistake mistook mistaken
overcome overcame|override overrode overridden|overwrite overwrote overwritten|pay paid|rebuild rebuilt|redo redone|rerun reran
rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see seen|seek sought|sell sold|send sent
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept
speak spoke spoken|speed sped|spell spelt|spend spent|spill spilt|spin spun|spoil spoilt|stand stood|steal stole stolen|stick stuck
strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|undo undid undone|wake woke woken|wear wore worn|weep wept|win won|wind wound
withdraw withdrew withdrawn|write wrote written|child children|foot feet|index indices|leaf leaves|man men|matrix matrices|mouse mice
person people|tooth teeth|vertex vertices|woman women
"""
_BASES = {
    form: base
    for line in _FORMS.replace("\n", "|").split("|")
    if line
    for base, *forms in [line.split()]
    for form in forms
}


def base_of(word: str) -> str:
    """The word that an irregular form belongs to; empty for every other word."""
    return _BASES.get(word.lower(), "")


# The words that every English text has, whatever it is about: they tell nothing of a question and support nothing
# in an answer.

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
    """The terms of the words that are not common."""
    return {term for word in _WORD.findall(text) if word.lower() not in COMMON for term in terms(word)}
