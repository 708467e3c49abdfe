"""Query understanding: a task's text → terms, keywords in three tiers, clauses, intent, spelling suggestions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from assay.rank.pieces import Piece, is_file_name, separate
from assay.rank.profile import Profile
from assay.rank.signals.items import is_about_tests
from assay.rank.signals.lexical import phrases, query_terms
from assay.rank.vocabulary import ABBREVIATIONS, ACTION_VERBS, FILLERS, STOP_WORDS
from assay.store.index import Index
from assay.store.postings import NAME
from assay.text.terms import terms, words
from assay.text.tokens import LONGEST_TASK

LONGEST = 100  # a longer "identifier" is pasted data
KEPT = 200  # of each tier: a pasted log must not become thousands of lookups
_SHORTEST = 2
_SHORTEST_CODE = 3
_SHORTEST_JOINED, _LONGER_JOINED = 3, 4  # of two words made one name: each, and at least one of them
_ACRONYM = 5  # up to this many capitals are an acronym: it says what kind, the noun after it says what

_QUOTED = re.compile(r"`([^`\n]{1,300})`")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*[?!]?(?:(?:\.|::|#|->|-)[\w$]+[?!]?)*")
_WORD = re.compile(r"\w+(?:(?:\.|::|#)\w+)*(?:['’]\w{1,2}\b)?")
_CONTRACTION = re.compile(r"n['’]t$|['’]\w{1,2}$")
# the text between two words that still belong together: `blast radius`, `read-only`, not `one, two`
_GAP = re.compile(r"[\s`\"*-]{1,4}")
# bounded, so that no text makes the search take quadratic time
_CALL = re.compile(r"(?<![\w$])\.?([A-Za-z_$][\w$]{0,80}(?:(?:\.|::|#)[\w$]{1,80}){0,8}[?!]?)\(")
_DOTTED = re.compile(r"(?<![\w.:#/\\$-])[A-Za-z_]\w{0,80}(?:(?:\.|::|#)\w{1,80}){1,12}(?![\w/\\])")
_SEPARATOR = re.compile(r"\.|::|#")
_PROPER = re.compile(
    r"[A-Z][A-Za-z0-9]*|[a-z0-9]+"
)  # OpenAPI and GitHub are names of things in the world as often as of types


@dataclass(frozen=True, slots=True)
class Keywords:
    """What a task names, most specific first. No keyword is in two tiers."""

    exact: tuple[str, ...] = ()
    compounds: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    literal: tuple[str, ...] = ()  # those of the first two tiers that stand in the task and can be nothing but code

    @property
    def primary(self) -> tuple[str, ...]:
        return self.exact + self.compounds

    @property
    def all(self) -> tuple[str, ...]:
        return self.exact + self.compounds + self.components


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    joined: bool  # to the word before it, by nothing but a blank or a hyphen

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def is_content(self) -> bool:
        return self.lower not in STOP_WORDS and len(self.text) >= _SHORTEST


def extract(task: str) -> Keywords:
    """The keywords and typed pieces of a task."""
    pieces, prose = separate(task)
    text_words = _words(prose)
    seen: set[str] = set()
    exact = _fresh(_with_lower(_quoted(task)), seen)
    priority = _priority(text_words)
    named = priority if priority and _is_compound(priority) else ""
    compounds = _fresh(_with_lower(code_patterns(prose)), seen)
    compounds += _fresh(_with_lower(_functions(pieces)), seen)
    compounds += _fresh(_with_lower(filter(None, [named])), seen)
    compounds += _fresh(_with_lower(word.text for word in text_words if _is_compound(word.text)), seen)
    literal = exact + [name for name in compounds if not _PROPER.fullmatch(name)]
    compounds += _fresh(_bigrams(text_words), seen)
    first = _fresh([priority, priority.capitalize()] if priority and not named else [], seen)
    rest = _fresh(_components(text_words), seen)
    components = first + sorted(rest, key=len, reverse=True)
    return Keywords(
        tuple(exact[:KEPT]), tuple(compounds[:KEPT]), tuple(components[:KEPT]), pieces, tuple(literal[:KEPT])
    )


def code_patterns(text: str) -> list[str]:
    """What is code beyond doubt: `get_inlines()`, `ModelAdmin.get_inlines`, `utils.html_safe`, `a.b.escape`; with it the last name alone."""
    found = [(match.start(1), match[1]) for match in _CALL.finditer(text)]
    found += [(match.start(), match[0]) for match in _DOTTED.finditer(text) if _is_dotted_code(match[0])]
    names = [name for _, name in sorted(found)]
    both = (part for name in names for part in (name, _SEPARATOR.split(name)[-1]))
    return [name for name in dict.fromkeys(both) if _SHORTEST_CODE <= len(name) <= LONGEST]


def _is_dotted_code(name: str) -> bool:
    """Not `e.g`, `3.9`, `foo.bar` nor `notes.txt`: a capital in front, an underscore, `::`, or three parts and more."""
    parts = _SEPARATOR.split(name)
    if is_file_name(name) or any(len(part) < _SHORTEST or part[0].isdigit() for part in parts):
        return False
    return name[0].isupper() or "_" in name or "::" in name or "#" in name or len(parts) > 2


def _words(text: str) -> list[_Word]:
    found, end = [], 0
    for match in _WORD.finditer(text):
        word = _CONTRACTION.sub("", match[0])
        joined = bool(_GAP.fullmatch(text, end, match.start()))
        end = match.end()
        if len(word) <= LONGEST:
            found.append(_Word(word, joined))
    return found


def _fresh(candidates: Iterable[str], seen: set[str]) -> list[str]:
    """Those not seen before, which now are."""
    kept = []
    for candidate in candidates:
        if candidate not in seen:
            seen.add(candidate)
            kept.append(candidate)
    return kept


def _with_lower(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield name
        yield name.lower()


def _quoted(task: str) -> Iterator[str]:
    for inside in _QUOTED.findall(task):
        name = inside.strip().removesuffix("()").lstrip(".")
        if len(name) <= LONGEST and _IDENTIFIER.fullmatch(name):
            yield name


def _functions(pieces: Sequence[Piece]) -> Iterator[str]:
    """The functions of stack frames."""
    for piece in pieces:
        name = _SEPARATOR.split(piece.function)[-1]
        if _SHORTEST < len(name) <= LONGEST:
            yield name


def _priority(text_words: Sequence[_Word]) -> str:
    """The first noun after the verb that opens the task; an acronym only when no noun follows."""
    if not text_words or text_words[0].lower not in ACTION_VERBS:
        return ""
    nouns = [
        word for word in text_words[1:] if word.is_content and word.lower not in FILLERS and word.text[0].isalpha()
    ]
    plain = [word for word in nouns if not (word.text.isupper() and len(word.text) <= _ACRONYM)]
    chosen = next(iter(plain or nouns), None)
    if chosen is None:
        return ""
    return chosen.text if _is_compound(chosen.text) else chosen.lower


def _is_compound(word: str) -> bool:
    """Whether a word is an identifier of several parts: `before_request`, `QuerySet`, `app.config`, not `3.9` nor `e.g`."""
    if word[0].isdigit() or len(word) <= _SHORTEST or all(len(part) < _SHORTEST for part in _SEPARATOR.split(word)):
        return False
    return "_" in word.strip("_") or bool(_SEPARATOR.search(word)) or (word.isascii() and len(words(word)) > 1)


def _bigrams(text_words: Sequence[_Word]) -> Iterator[str]:
    """`blast radius` → BlastRadius, blast_radius."""
    for before, after in pairwise(text_words):
        if (
            after.joined
            and _can_join(before)
            and _can_join(after)
            and max(len(before.text), len(after.text)) >= _LONGER_JOINED
        ):
            yield before.lower.capitalize() + after.lower.capitalize()
            yield f"{before.lower}_{after.lower}"


def _can_join(word: _Word) -> bool:
    return (
        word.is_content
        and len(word.text) >= _SHORTEST_JOINED
        and word.text.isalpha()
        and word.lower not in ACTION_VERBS
        and word.lower not in FILLERS
    )


def _components(text_words: Sequence[_Word]) -> Iterator[str]:
    """The single words, identifiers split, with what abbreviations stand for."""
    for word in text_words:
        for part in words(word.text) if word.text.isascii() else (word.lower,):
            if len(part) >= _SHORTEST and part not in STOP_WORDS:
                yield part
                if part in ABBREVIATIONS:
                    yield ABBREVIATIONS[part]


# Reading a task once, for all that asks about it: its words, their relatives, its keywords, and whether it is about
# tests.


@dataclass(frozen=True, slots=True)
class Reading:
    """What a task says."""

    task: str
    terms: Mapping[str, float]  # stems, and how often each counts
    related: Mapping[str, float]  # stems of words that mean nearly the same, and what each counts
    phrases: tuple[tuple[str, str], ...]
    keywords: Keywords
    about_tests: bool


def read(task: str, profile: Profile) -> Reading:
    """Reads a task, as much of it as a person would have written."""
    text = task[:LONGEST_TASK]
    named = extract(text)
    own = query_terms(text, profile.repeats, profile.later)
    related = _related(named, profile.thesaurus) if profile.thesaurus else {}
    return Reading(
        task,
        own,
        {term: weight for term, weight in related.items() if term not in own},
        tuple(phrases(text)),
        named,
        is_about_tests(text.strip().partition("\n")[0]),  # a body that says "tests added" is not about tests
    )


def _related(named: Keywords, weight: float) -> dict[str, float]:
    from assay.rank import vocabulary as thesaurus  # few profiles have a use for it

    return {
        term: weight
        for relatives in thesaurus.expand(named.components).values()
        for word in relatives
        for term in terms(word)
    }


# Names that a word may have meant which nothing here has.

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
