"""Profiles: every number the ranking depends on, named. A profile is chosen in a configuration, never by the environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.items import EDGE_TYPES, KINDS
from assay.errors import AssayError
from assay.text.terms import nearest

# What a step along an edge is worth, forwards and backwards (seed 003; backwards half, where it has no name of its own).
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "overrides": 0.8, "contains": 0.8, "handles_route": 0.7, "extends": 0.7, "tests": 0.6,
    "accesses_field": 0.6, "imports": 0.5, "type_hint_of": 0.5, "co_tested_with": 0.5, "executes_process": 0.5, "references": 0.4,
    "throws": 0.4, "reads_env": 0.4, "decorates": 0.3, "inherits": 0.3, "similar_to": 0.15,
}  # fmt: skip
BACKWARDS = {"contains": 0.6, "tests": 0.5}
_BACKWARDS_SHARE = 0.5

CHANNELS = ("names", "lexical", "classes", "vectors")  # that fusion joins

DEFAULT, CHANGE = "default", "change"  # names of profiles


@dataclass(frozen=True, slots=True)
class Profile:
    """How a ranking is made. Setting a weight to 0 switches its mechanism off."""

    name: str = DEFAULT
    # words: a field's weight in BM25F, and how much its length counts
    field_weights: tuple[float, ...] = (5.0, 2.0, 2.0, 1.0, 1.5, 0.6, 0.6)
    field_lengths: tuple[float, ...] = (0.3, 0.3, 0.3, 0.5, 0.6, 0.75, 0.75)
    saturation: float = 1.2
    repeats: int = 3  # a word of the task counts at most so often
    later: float = 0.8  # what the words of a clause count, those of the one before being 1
    thesaurus: float = 0.0  # what a related word counts, the task's own being 1
    # what multiplies the lexical score
    coverage: float = 0.7  # the share of the task's words found, by rarity
    name_precision: float = 0.3  # the share of the name's words that the task has
    phrase: float = 0.0  # two words that are neighbours in the task are in the name
    authority: float = 0.7  # how often it is called and referred to
    history: float = 0.35  # commits with such messages touched its file
    touched: float = 0.1  # … or the symbol itself
    documents: float = 0.5  # sections of documents that speak of the task name it
    place: float = 1.0  # the task names its file
    test_weight: float = 0.25  # tests, unless the task is about tests
    kind_weights: Mapping[str, float] = field(
        default_factory=lambda: {"field": 0.3, "variable": 0.3, "constant": 0.3, "property": 0.3}
    )
    # channels: ranked lists of candidates, fused by reciprocal rank; what the first of all lists gains
    channels: Mapping[str, float] = field(default_factory=lambda: {"names": 1.0, "classes": 0.5})
    fusion: float = 0.5
    certain: float = (
        0.5  # what the task points at (a place in a file, a class of the project) gains, as a share of the best
    )
    # containers and members
    container_share: float = 0.4  # of its best members' scores, halved from one to the next
    member_share: float = 0.5  # of its container's score, divided among them where they are many
    # seeds of the walk
    seeding: str = "scores"  # or "fusion"
    seed_counts: tuple[tuple[int, int], ...] = ((0, 40),)  # from so many items on, so many seeds
    implementors: bool = False  # of the interfaces among the seeds
    dense: int = 0  # from so many items on, types go before functions among the seeds; 0 = never
    focused: bool = False  # the folder with most candidates goes first
    noise: bool = False  # build output, minified code, stand-ins of tests are left out; `build/` and `Mock` are product code somewhere
    path_seeds: float = 0.0  # the weight of types under the paths the task speaks of
    # the walk
    walk: float = 2.0  # its part of the final score, the direct score's being 1
    restart: float = 0.2
    steps: int = 15
    edge_weights: Mapping[str, float] = field(default_factory=lambda: dict(EDGE_WEIGHTS))
    # after the walk
    hits: float = 0.5  # the part of the adjustment by authorities and hubs
    folder: float = 0.3  # what the folder with most of the best items gains
    overload: float = 0.25  # what each next overload of a symbol counts; 1 = as much
    namesake: float = 0.5  # … and each next symbol of the same qualified name in another file
    own: float = 2.0  # how much what is said of each of the first ten itself decides their order, unless it is learned
    scoring: str = "shares"  # or "composite"
    ranker: float = 0.0  # how much the learned order counts: 1 = alone

    def backwards(self, edge: str) -> float:
        """What a step against an edge is worth."""
        return BACKWARDS.get(edge, self.edge_weights.get(edge, 0.0) * _BACKWARDS_SHARE)

    def seeds(self, items: int) -> int:
        """How many seeds a walk on so many items starts from."""
        return max((least, count) for least, count in self.seed_counts if least <= items)[1]


# the specification's settings as written; docs/retrieval.md says where the two differ
_SEED = Profile(
    "seed",
    field_weights=(10.0, 3.0, 4.0, 1.0, 3.0, 0.0, 0.0), repeats=1, later=1, thesaurus=0.5, coverage=0, name_precision=0, phrase=0.5,
    authority=0, history=0, touched=0, documents=0, place=0, test_weight=0.3, kind_weights={},
    channels={"names": 2.0, "lexical": 2.0, "classes": 2.0}, fusion=0, certain=0,
    container_share=0, member_share=0, seeding="fusion", seed_counts=((0, 15), (10_000, 20), (40_000, 25)), implementors=True, noise=True,
    dense=40_000, focused=True, path_seeds=0.3, steps=20, walk=1, hits=1.0, folder=0, overload=1, namesake=1, own=0, scoring="composite",
)  # fmt: skip

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        # for golden sets mined from the history of the repository that is searched: there, history would know the answers
        Profile("no-history", history=0, touched=0),
        # what a change is likely to touch, as learned from the commits of public repositories; the others rank what there is to know
        Profile(CHANGE, ranker=1.0),
        Profile(
            "lexical", later=1, coverage=0, name_precision=0, authority=0, history=0, touched=0, documents=0, place=0, kind_weights={},
            channels={}, fusion=0, certain=0, container_share=0, member_share=0, walk=0, hits=0, folder=0, overload=1, namesake=1, own=0,
        ),
        _SEED,
    )
}  # fmt: skip


# A profile of the user's own: a built-in one with some of its numbers changed, checked by what the built-in one has
# there.

BASE = "base"
_MOST = 1e9  # beyond it sums lose their digits
_FEW = 8  # names that an error can list
# what may be named in a table of weights
_NAMED: Mapping[str, Collection[str]] = {"kind_weights": KINDS, "edge_weights": EDGE_TYPES, "channels": CHANNELS}
_CHOICES: Mapping[str, Collection[str]] = {"seeding": ("scores", "fusion"), "scoring": ("shares", "composite")}
# shares: above 1 the formulas they stand in turn negative or never end
_SHARES = frozenset({"coverage", "field_lengths", "restart"})


def from_table(name: str, table: object, origin: str) -> Profile:
    """The profile that a table such as `{base = "default", walk = 0.5}` describes. `origin` names the file in errors."""
    where = f"{origin}: [profile.{name}]"
    if name in PROFILES:
        raise AssayError(f"{where}: '{name}' is built in; give yours another name and write base = \"{name}\"")
    if not isinstance(table, Mapping):
        raise AssayError(f"{where} must be a table of settings")
    base = PROFILES[known("base", table.get(BASE, DEFAULT), PROFILES, where)]
    return changed(base, name, {key: value for key, value in table.items() if key != BASE}, where)


def changed(base: Profile, name: str, table: Mapping[str, Any], where: str) -> Profile:
    """A profile with some of its settings changed, under another name."""
    settings = numbers(Profile())  # says what each setting is: a base may have a whole number where any would do
    values = {
        key: _checked(f"{where} {key}", value, settings[known("setting", key, settings, where)], key)
        for key, value in table.items()
    }
    weights = {key: {**getattr(base, key), **value} for key, value in values.items() if isinstance(value, dict)}
    return dataclasses.replace(base, name=name, **{**values, **weights})


def numbers(profile: Profile) -> dict[str, Any]:
    """Everything that can be set in a profile, by name."""
    return {field.name: getattr(profile, field.name) for field in dataclasses.fields(profile) if field.name != "name"}


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with every weight by itself: `edge_weights.calls`."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
    return found


def known(what: str, name: object, names: Collection[str], where: str = "") -> str:
    """The name, if there is such a one; otherwise the error offers the nearest, and all when they are few."""
    if isinstance(name, str) and name in names:
        return name
    near = nearest(str(name), names, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    listed = f" Known: {', '.join(names)}" if not near or len(names) <= _FEW else ""
    raise AssayError(f"{where}{': ' if where else ''}unknown {what} '{name}'.{hint}{listed}")


def _checked(where: str, value: Any, standard: Any, key: str) -> Any:
    """The value in the type that the setting has; an error that says what it should be when it is of another."""
    if isinstance(standard, Mapping):
        return _weights(where, value, standard, _NAMED.get(key))
    if key in _CHOICES:
        return known(key, value, _CHOICES[key], where)
    if key == "seed_counts":
        return _steps(where, value)
    if isinstance(standard, tuple):
        if not isinstance(value, list) or len(value) != len(standard):
            raise AssayError(f"{where} must be a list of {len(standard)} numbers, not {value!r}")
        return tuple(_number(where, one, like, key) for one, like in zip(value, standard, strict=True))
    if isinstance(standard, bool):
        if not isinstance(value, bool):
            raise AssayError(f"{where} must be true or false, not {value!r}")
        return value
    return _number(where, value, standard, key)


def _weights(where: str, value: Any, standard: Mapping[str, Any], names: Collection[str] | None) -> dict[str, Any]:
    """The weights given, each by a name that exists."""
    if not isinstance(value, Mapping):
        raise AssayError(f"{where} must be a table of numbers, not {value!r}")
    return {
        known("weight", name, names or standard, where): _number(f"{where}.{name}", one, 1.0, "")
        for name, one in value.items()
    }


def _steps(where: str, value: Any) -> tuple[tuple[int, int], ...]:
    """Pairs such as [[0, 15], [10000, 20]]: from so many items on, so many; the first from 0."""
    pairs = value if isinstance(value, list) else []
    if not pairs or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise AssayError(f"{where} must be a list of pairs such as [[0, 40]], not {value!r}")
    steps = tuple((int(_number(where, least, 0, "")), int(_number(where, count, 0, ""))) for least, count in pairs)
    if steps[0][0] != 0:
        raise AssayError(f"{where} must start from 0 items, not {steps[0][0]}")
    return steps


def _number(where: str, value: Any, standard: float, key: str) -> float:
    most = 1 if key in _SHARES else _MOST
    types = (int,) if isinstance(standard, int) else (int, float)
    if type(value) not in types or not 0 <= value <= most:
        what = "a whole number" if isinstance(standard, int) else "a number"
        raise AssayError(f"{where} must be {what} from 0 to {most:,.0f}, not {value!r}")
    return value if isinstance(standard, int) else float(value)
