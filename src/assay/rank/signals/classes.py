"""Equivalence classes: phrases that people use for a concept, and the names that programs give it.

`classes.json` holds the curated ones, one class per line of a layer: `universal` holds for every language, the others
only for indexes with that language. Names are compared without case and underscores. Generic names only: no class may
name what belongs to one project or framework.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import AssayError
from assay.rank.signals.signal import Signal, Stage
from assay.rank.symbols import NameTable
from assay.rank.vocabulary import word_set
from assay.text.terms import words

if TYPE_CHECKING:
    from assay.rank.context import QueryContext

# by source: the project's configuration, the curated tables, neighbours in the graph
USER_WEIGHT, CURATED_WEIGHT, GRAPH_WEIGHT = 1.0, 0.8, 0.7
_TRUSTED_WEIGHT = 0.9
UNIVERSAL = "universal"
# languages that share the classes of another one
_RELATED_LANGUAGES = {"javascript": "typescript", "tsx": "typescript", "kotlin": "java", "scala": "java"}
_SHORT_TARGET = 3  # names up to this length, and these, are borne by hundreds of unrelated symbols
_GENERIC_TARGETS = frozenset({"get", "set", "do", "new", "run", "put", "post", "call", "add", "pop"})
_CAP = 2  # hits per hit of the primary channels: more would outvote them
# words of neighbours' names that carry no meaning
_GENERIC_WORDS = word_set(
    "handle new get set is has do run make init test mock err ctx ok the for with from and to of in on by as at self func type string int bool "
    "error args kwargs result value data name key item main call util utils"
)
_SHORTEST_ALIAS = 3
_ALIASED_HITS = 10  # name hits whose neighbours' words become phrases for them
_NEIGHBOURS = 20  # neighbours per name hit
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """A concept. `language` restricts it to indexes with that language; empty means all."""

    concept: str
    phrases: tuple[str, ...]
    targets: tuple[str, ...]
    weight: float = CURATED_WEIGHT
    language: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A class with its phrases that occur in a task."""

    equivalence: EquivalenceClass
    phrases: tuple[str, ...]

    @property
    def is_strong(self) -> bool:
        """Two phrases, or one of several words; a single common word is not enough evidence of the concept."""
        return len(self.phrases) > 1 or " " in self.phrases[0]

    @property
    def is_sure(self) -> bool:
        """Strong match of a trusted class: its targets are added to the answer, not only proposed."""
        return self.is_strong and self.equivalence.weight >= _TRUSTED_WEIGHT


class EquivalenceHit(NamedTuple):
    """An item with the match and the target name that led to it."""

    number: int
    match: Match
    target: str


@cache
def curated() -> tuple[EquivalenceClass, ...]:
    """Load the universal and the language-specific classes."""
    layers = json.loads(Path(__file__).with_name("classes.json").read_text("utf-8"))
    return tuple(
        EquivalenceClass(
            concept, tuple(row["phrases"]), tuple(row["targets"]), language="" if layer == UNIVERSAL else layer
        )
        for layer, rows in layers.items()
        for concept, row in rows.items()
    )


def user_classes(table: Mapping[str, Any], origin: str) -> tuple[EquivalenceClass, ...]:
    """Parse the classes of a project: concept → phrases and targets, optionally weight and language.

    `origin` names the file in errors. Raises AssayError.
    """
    return tuple(_user_class(concept, row, origin) for concept, row in table.items())


def _user_class(concept: str, row: Any, origin: str) -> EquivalenceClass:
    if not isinstance(row, Mapping):
        raise AssayError(f"{origin}: class {concept} must have phrases and targets")
    unknown = set(row) - {"phrases", "targets", "weight", "language"}
    if unknown:
        raise AssayError(f"{origin}: class {concept} has an unknown key '{min(unknown)}'")
    for key in ("phrases", "targets"):
        value = row.get(key)
        if not (
            isinstance(value, list) and value and all(isinstance(text, str) and _WORD.search(text) for text in value)
        ):
            raise AssayError(f"{origin}: class {concept}: {key} must be a list of words or names")
    weight = row.get("weight", USER_WEIGHT)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise AssayError(f"{origin}: class {concept}: weight must be a number from 0 to 1")
    language = row.get("language", "")
    if not isinstance(language, str):
        raise AssayError(f"{origin}: class {concept}: language must be a name")
    return EquivalenceClass(concept, tuple(row["phrases"]), tuple(row["targets"]), float(weight), language)


def matches(task: str, classes: Iterable[EquivalenceClass], languages: Collection[str]) -> list[Match]:
    """Return the classes with a phrase in the task, surest first; whole words, any case, plurals allowed."""
    text = _normalize(task)
    applicable = {*languages, *(_RELATED_LANGUAGES[name] for name in languages if name in _RELATED_LANGUAGES)}
    matched = []
    for equivalence in classes:
        if not equivalence.language or equivalence.language in applicable:
            phrases = tuple(phrase for phrase in equivalence.phrases if _occurs(_normalize_phrase(phrase), text))
            if phrases:
                matched.append(Match(equivalence, phrases))
    return sorted(matched, key=lambda match: (not match.is_strong, -match.equivalence.weight, -len(match.phrases)))


def resolve(table: NameTable, matched: Sequence[Match], primary: int) -> list[EquivalenceHit]:
    """Return the items that bear the target names of the matches, at most twice as many as `primary`."""
    hits: dict[int, EquivalenceHit] = {}
    for match in matched:
        for target in filter(is_specific, match.equivalence.targets):
            for row in table.squeezed(target):
                if len(hits) >= _CAP * primary:
                    return list(hits.values())
                hits.setdefault(row.number, EquivalenceHit(row.number, match, target))
    return list(hits.values())


def is_specific(target: str) -> bool:
    return len(target) > _SHORT_TARGET and target.lower() not in _GENERIC_TARGETS


def aliases(neighbours: Mapping[str, Sequence[str]]) -> list[EquivalenceClass]:
    """Build classes from the graph: words in the names of a symbol's callers and callees become its phrases."""
    classes = []
    for name, names in neighbours.items():
        phrases = dict.fromkeys(phrase for neighbour in names for phrase in _alias_phrases(name, neighbour))
        if phrases:
            classes.append(EquivalenceClass(f"GRAPH_{name}", tuple(phrases), (name,), GRAPH_WEIGHT))
    return classes


def _alias_phrases(name: str, neighbour: str) -> list[str]:
    """Split `handleBlastRadius` into blast, radius, blast radius, without words of the symbol's own name."""
    own = name.lower()
    informative = [
        word
        for word in words(neighbour)
        if len(word) >= _SHORTEST_ALIAS and word not in _GENERIC_WORDS and word not in own and not word.isdigit()
    ]
    return informative + [f"{before} {after}" for before, after in pairwise(informative)]


def _normalize(text: str) -> str:
    """Return lower-case words separated and enclosed by single blanks: a phrase occurs if it is a substring."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


_normalize_phrase = lru_cache(maxsize=1 << 12)(_normalize)  # curated phrases are compared with every task


def _occurs(phrase: str, text: str) -> bool:
    return phrase in text or f"{phrase[:-1]}s " in text


# Channel


def class_hits(query: QueryContext, by_name: Sequence[int] = (), by_text: Sequence[int] = ()) -> list[EquivalenceHit]:
    """Return targets of matching classes: the project's, the curated ones, and aliases from the graph.

    The hits of the primary channels, by name and by text, bound their number.
    """
    resources = query.resources
    matched = matches(
        query.task.task, (*resources.classes, *curated(), *_graph_aliases(query, by_name)), resources.languages
    )
    return resolve(resources.names, matched, len({*by_name, *by_text}))


def _graph_aliases(query: QueryContext, name_hits: Sequence[int]) -> list[EquivalenceClass]:
    linked = {
        number: query.graph.neighbours(number, "calls")[:_NEIGHBOURS].tolist() for number in name_hits[:_ALIASED_HITS]
    }
    numbers = {*linked, *(neighbour for neighbours in linked.values() for neighbour in neighbours)}
    names = query.index.names_of(numbers)
    return aliases(
        {
            names[number]: [names[neighbour] for neighbour in neighbours]
            for number, neighbours in linked.items()
            if neighbours
        }
    )


CLASSES = Signal(
    "classes",
    Stage.CHANNEL,
    "pointed at",
    "matched by an equivalence class",
    weights={"channels.classes": ()},
    reads=("channels",),  # the names bound the number of its hits
    generate=lambda query: [hit.number for hit in class_hits(query, query.hits("names"))],
    is_feature=True,
)
