"""Query understanding: a task's text → terms, keywords in three tiers, clauses, intent, spelling suggestions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from assay.rank.pieces import Piece, is_file_name, separate
from assay.rank.profile import Profile
from assay.rank.vocabulary import ABBREVIATIONS, ACTION_VERBS, FILLERS, QUERY_STOP_WORDS, STOP_WORDS, word_set
from assay.store.index import Index
from assay.store.postings import NAME
from assay.text.terms import terms, words
from assay.text.tokens import LONGEST_TASK, MOST_TERMS

LONGEST = 100  # characters of an identifier; a longer one is pasted data
MAX_KEYWORDS = 200  # keywords of each tier: a pasted log must not become thousands of lookups
_SHORTEST = 2
_SHORTEST_CODE = 3
_SHORTEST_JOINED, _LONGER_JOINED = 3, 4  # characters of two words joined to one name: of each, and of the longer one
_ACRONYM = 5  # up to this many capitals are an acronym: it qualifies the noun after it

_QUOTED = re.compile(r"`([^`\n]{1,300})`")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*[?!]?(?:(?:\.|::|#|->|-)[\w$]+[?!]?)*")
_WORD = re.compile(r"\w+(?:(?:\.|::|#)\w+)*(?:['’]\w{1,2}\b)?")
_CONTRACTION = re.compile(r"n['’]t$|['’]\w{1,2}$")
# text between two words of one phrase: `blast radius`, `read-only`, not `one, two`
_GAP = re.compile(r"[\s`\"*-]{1,4}")
# bounded, so that no text makes the search take quadratic time
_CALL = re.compile(r"(?<![\w$])\.?([A-Za-z_$][\w$]{0,80}(?:(?:\.|::|#)[\w$]{1,80}){0,8}[?!]?)\(")
_DOTTED = re.compile(r"(?<![\w.:#/\\$-])[A-Za-z_]\w{0,80}(?:(?:\.|::|#)\w{1,80}){1,12}(?![\w/\\])")
_SEPARATOR = re.compile(r"\.|::|#")
# OpenAPI and GitHub are as often names of products as of types
_PROPER = re.compile(r"[A-Z][A-Za-z0-9]*|[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Keywords:
    """Identifiers and words of a task in three disjoint tiers, most specific first."""

    exact: tuple[str, ...] = ()
    compounds: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()
    literal: tuple[str, ...] = ()  # keywords of the first two tiers that occur in the task and can only be code

    @property
    def primary(self) -> tuple[str, ...]:
        return self.exact + self.compounds

    @property
    def all(self) -> tuple[str, ...]:
        return self.exact + self.compounds + self.components


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    joined: bool  # to the preceding word, by a blank or hyphen only

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def is_content(self) -> bool:
        return self.lower not in STOP_WORDS and len(self.text) >= _SHORTEST


def extract(task: str) -> Keywords:
    """Extract the keywords and typed pieces of a task."""
    pieces, prose = separate(task)
    text_words = _words(prose)
    seen: set[str] = set()
    exact = _unseen(_with_lowercase(_quoted_names(task)), seen)
    priority = _priority_noun(text_words)
    identifier = priority if priority and _is_compound(priority) else ""
    compounds = _unseen(_with_lowercase(code_patterns(prose)), seen)
    compounds += _unseen(_with_lowercase(_frame_functions(pieces)), seen)
    compounds += _unseen(_with_lowercase(filter(None, [identifier])), seen)
    compounds += _unseen(_with_lowercase(word.text for word in text_words if _is_compound(word.text)), seen)
    literal = exact + [name for name in compounds if not _PROPER.fullmatch(name)]
    compounds += _unseen(_bigrams(text_words), seen)
    priority_words = _unseen([priority, priority.capitalize()] if priority and not identifier else [], seen)
    other_words = _unseen(_components(text_words), seen)
    components = priority_words + sorted(other_words, key=len, reverse=True)
    return Keywords(
        tuple(exact[:MAX_KEYWORDS]),
        tuple(compounds[:MAX_KEYWORDS]),
        tuple(components[:MAX_KEYWORDS]),
        pieces,
        tuple(literal[:MAX_KEYWORDS]),
    )


def code_patterns(text: str) -> list[str]:
    """Return unambiguous code: `get_inlines()`, `ModelAdmin.get_inlines`, `utils.html_safe`, `a.b.escape`.

    Each is followed by its last name alone.
    """
    positions = [(match.start(1), match[1]) for match in _CALL.finditer(text)]
    positions += [(match.start(), match[0]) for match in _DOTTED.finditer(text) if _is_dotted_code(match[0])]
    names = [name for _, name in sorted(positions)]
    full_and_last = (part for name in names for part in (name, _SEPARATOR.split(name)[-1]))
    return [name for name in dict.fromkeys(full_and_last) if _SHORTEST_CODE <= len(name) <= LONGEST]


def _is_dotted_code(name: str) -> bool:
    """Return True for an initial capital, an underscore, `::`, or three and more parts.

    Excludes `e.g`, `3.9`, `foo.bar` and `notes.txt`.
    """
    parts = _SEPARATOR.split(name)
    if is_file_name(name) or any(len(part) < _SHORTEST or part[0].isdigit() for part in parts):
        return False
    return name[0].isupper() or "_" in name or "::" in name or "#" in name or len(parts) > 2


def _words(text: str) -> list[_Word]:
    tokens, end = [], 0
    for match in _WORD.finditer(text):
        word = _CONTRACTION.sub("", match[0])
        joined = bool(_GAP.fullmatch(text, end, match.start()))
        end = match.end()
        if len(word) <= LONGEST:
            tokens.append(_Word(word, joined))
    return tokens


def _unseen(candidates: Iterable[str], seen: set[str]) -> list[str]:
    """Return the candidates not in `seen`, and add them to it."""
    fresh = []
    for candidate in candidates:
        if candidate not in seen:
            seen.add(candidate)
            fresh.append(candidate)
    return fresh


def _with_lowercase(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield name
        yield name.lower()


def _quoted_names(task: str) -> Iterator[str]:
    for inside in _QUOTED.findall(task):
        name = inside.strip().removesuffix("()").lstrip(".")
        if len(name) <= LONGEST and _IDENTIFIER.fullmatch(name):
            yield name


def _frame_functions(pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the function names of stack frames."""
    for piece in pieces:
        name = _SEPARATOR.split(piece.function)[-1]
        if _SHORTEST < len(name) <= LONGEST:
            yield name


def _priority_noun(text_words: Sequence[_Word]) -> str:
    """Return the first noun after the task's opening verb; an acronym only when no noun follows."""
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
    """Return whether a word is a multi-part identifier: `before_request`, `QuerySet`, `app.config`, not `3.9`."""
    if word[0].isdigit() or len(word) <= _SHORTEST or all(len(part) < _SHORTEST for part in _SEPARATOR.split(word)):
        return False
    return "_" in word.strip("_") or bool(_SEPARATOR.search(word)) or (word.isascii() and len(words(word)) > 1)


def _bigrams(text_words: Sequence[_Word]) -> Iterator[str]:
    """Yield adjacent words as identifiers: `blast radius` → BlastRadius, blast_radius."""
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
    """Yield the single words, identifiers split, with the expansions of abbreviations."""
    for word in text_words:
        for part in words(word.text) if word.text.isascii() else (word.lower,):
            if len(part) >= _SHORTEST and part not in STOP_WORDS:
                yield part
                if part in ABBREVIATIONS:
                    yield ABBREVIATIONS[part]


# Query terms

# clause boundaries
_CLAUSE = re.compile(
    r"""\b(?:that|which|when|where|so|while|because|including|requiring|without|using|by|during|if|after|with|for|via|through)\b
    | [;:]\s | \s\(""",
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?]\s+|\n")
_MOST_CLAUSES = 12  # a pasted log must not become hundreds of clauses
_LAST_CLAUSE = 4  # later clauses count like this one


def query_terms(task: str, repeats: int, clause_decay: float = 1.0) -> dict[str, float]:
    """Return query terms with weights: the term frequency up to `repeats`, times `clause_decay` per preceding clause.

    The first of several lines is the title: its terms count twice, and only it is split into clauses.
    """
    title, _, body = task.strip().partition("\n")
    counts = Counter(_content_terms(task))
    if body.strip():
        counts.update(_content_terms(title))
    clauses = _clauses(title)
    limited = islice(counts.items(), MOST_TERMS)
    return {term: min(count, repeats) * clause_decay ** clauses.get(term, 0) for term, count in limited}


def _clauses(title: str) -> dict[str, int]:
    """Return the index of the clause in which each term first occurs; clauses without query terms are not counted."""
    clause_terms = [list(_content_terms(clause)) for clause in _CLAUSE.split(title)]
    first: dict[str, int] = {}
    for number, clause in enumerate(filter(None, clause_terms)):
        for term in clause:
            first.setdefault(term, min(number, _LAST_CLAUSE))
    return first


def clauses(task: str) -> list[tuple[str, ...]]:
    """Return the query terms of every clause and sentence of a task, without clauses that have none."""
    texts = (clause for sentence in _SENTENCE.split(task) for clause in _CLAUSE.split(sentence))
    return [found for found in (tuple(dict.fromkeys(_content_terms(text))) for text in texts) if found][:_MOST_CLAUSES]


def _content_terms(text: str) -> Iterator[str]:
    for word in re.findall(r"\w+", text):
        if word.lower() not in QUERY_STOP_WORDS:
            yield from (term for term in terms(word) if term not in QUERY_STOP_WORDS)


_TEST_WORDS = word_set("""
test tests testing tested testcase testcases unittest unittests spec specs fixture fixtures assert asserts assertion assertions
""")
_ANY_WORD = re.compile(r"\w+")
_QUOTED_TEXT = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)")


def is_about_tests(task: str) -> bool:
    """Return whether a task mentions tests outside quotes; then test code is ranked like any other."""
    return not _TEST_WORDS.isdisjoint(_ANY_WORD.findall(_QUOTED_TEXT.sub(" ", task).lower()))


# Parsed task


@dataclass(frozen=True, slots=True)
class ParsedTask:
    """A parsed task: weighted terms, clauses and keywords."""

    task: str
    terms: Mapping[str, float]  # stems with their query weights
    sequence: tuple[str, ...]  # stems in the order of the text
    clauses: tuple[tuple[str, ...], ...]  # stems of each clause
    keywords: Keywords
    about_tests: bool


def parse_task(task: str, profile: Profile) -> ParsedTask:
    """Parse a task, at most LONGEST_TASK characters of it."""
    text = task[:LONGEST_TASK]
    title = text.strip().partition("\n")[0]  # a body that says "tests added" is not about tests
    return ParsedTask(
        task,
        query_terms(text, profile.repeats, profile.clause_decay),
        tuple(islice(_content_terms(text), MOST_TERMS)),
        tuple(clauses(text)),
        extract(text),
        is_about_tests(title),
    )


# Spelling suggestions for unmatched query terms.

_SIMILARITY = 0.75  # difflib similarity from which a word counts as a misspelling
_LONGEST_STEM = 40  # letters of a stem: longer ones are data or text without blanks, not misspelt words
_COMPARED_STEMS = 30  # stems of a task that are compared with the vocabulary; each takes about 10 ms
_SYMBOLS_PER_WORD = 100  # symbols per similar word: the shortest names among them suffice


def suggest_names(index: Index, unknown: Sequence[str], limit: int = 5) -> list[str]:
    """Return the names that contain a word similar to one of `unknown`: most similar first, then shortest."""
    import difflib  # only for suggestions

    postings = index.postings
    similarity: dict[str, float] = {}
    stems = dict.fromkeys(stem for word in unknown for stem in terms(word) if len(stem) <= _LONGEST_STEM)
    for stem in islice(stems, _COMPARED_STEMS):
        for similar in difflib.get_close_matches(stem, postings.terms_like(stem[:1]), limit, _SIMILARITY):
            similarity[similar] = max(
                similarity.get(similar, 0.0), difflib.SequenceMatcher(None, similar, stem).ratio()
            )
    suggestions: list[str] = []
    for similar in sorted(similarity, key=lambda similar: (-similarity[similar], similar)):
        items, counts = postings.get(similar)
        symbols = index.symbols_of(items[counts[:, NAME] > 0][:_SYMBOLS_PER_WORD].tolist()).values()
        suggestions += sorted({*filter(None, symbols)} - {*suggestions}, key=lambda name: (len(name), name))
    return suggestions[:limit]
