"""Ranking profiles: every number the ranking depends on, named. Chosen by configuration, never by the environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.items import EDGE_TYPES, KINDS
from assay.errors import AssayError
from assay.rank.seed.specification import SETTINGS
from assay.text.suggest import require_name

# Walk weights of edge types, forwards (seed 003); backwards half of that unless listed.
EDGE_WEIGHTS = {
    "calls": 1.0, "implements": 0.8, "overrides": 0.8, "contains": 0.8, "extends": 0.7, "tests": 0.6, "accesses_field": 0.6,
    "imports": 0.5, "type_hint_of": 0.5, "co_tested_with": 0.5, "references": 0.4, "throws": 0.4, "decorates": 0.3, "inherits": 0.3,
    "similar_to": 0.15,
}  # fmt: skip
WALKED = (*EDGE_WEIGHTS, "implements_rpc", "consumes_rpc")  # edges between two items: the only ones that can be walked
BACKWARDS = {"contains": 0.6, "tests": 0.5}
_BACKWARDS_SHARE = 0.5

# weights of candidate channels; those with 0.01 only propose candidates to the ranker
_FUSED = {"names": 1.0, "classes": 0.5}
CHANNELS = _FUSED | {"central": 0.01, "clauses": 0.01, "history": 0.01, "documents": 0.01}

DEFAULT, CHANGE, SEED = "default", "change", "seed"  # names of profiles


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings of a ranking. A weight of 0 switches its mechanism off.

    `test_weight`, `kind_weights`, `overload` and `namesake` are factors themselves: 1 is off.
    """

    name: str = DEFAULT
    # BM25F: field weights and length normalization (b) per field
    field_weights: tuple[float, ...] = (5.0, 2.0, 2.0, 1.0, 1.5, 0.6, 0.6)
    field_lengths: tuple[float, ...] = (0.3, 0.3, 0.3, 0.5, 0.6, 0.75, 0.75)
    saturation: float = 1.2
    repeats: int = 3  # maximum query term frequency
    clause_decay: float = 0.8  # weight of a clause's terms relative to the clause before it
    # factors of the lexical score
    coverage: float = 0.7  # share of the task's terms found, by rarity
    name_precision: float = 0.3  # share of the name's terms in the task
    authority: float = 0.7  # log in-degree of calls and references
    history: float = 0.35  # commits with matching messages touched its file
    touched: float = 0.1  # commits with matching messages touched the symbol itself
    recency: float = 0.0  # its file changed lately, whatever the task
    documents: float = 0.5  # matching documentation sections mention it
    place: float = 1.0  # the task names its file
    test_weight: float = 0.25  # tests, unless the task is about tests
    kind_weights: Mapping[str, float] = field(
        default_factory=lambda: {"field": 0.3, "variable": 0.3, "constant": 0.3, "property": 0.3}
    )
    # channels: ranked candidate lists; `fusion` is the gain of the first item in all of them
    channels: Mapping[str, float] = field(default_factory=lambda: dict(CHANNELS))
    fusion: float = 0.5
    proposed: float = 0.01  # score of the first item of a channel without other evidence, the best direct score being 1
    direct_hits: float = (
        0.5  # gain of items the task points at (path, frame, project class), relative to the best score
    )
    # containers and members
    container_share: float = 0.4  # of its best members' scores, halved from one to the next
    member_share: float = 0.5  # of its container's score, divided among many members
    # the walk
    seeds: int = 40  # best items by score, where it starts
    walk: float = 2.0  # weight in the final score, the direct score's being 1
    restart: float = 0.2
    steps: int = 15
    edge_weights: Mapping[str, float] = field(default_factory=lambda: dict(EDGE_WEIGHTS))
    tool_edges: float = 1.0  # factor of edges from language tools (`assay enrich`)
    # after the walk
    hits: float = 0.5  # weight of the HITS adjustment
    folder: float = 0.3  # boost of the folder with most of the top items
    overload: float = 0.25  # factor for each further overload of a symbol; 1 = no penalty
    namesake: float = 0.5  # … and for each further symbol of the same qualified name in another file
    reorder: float = 2.0  # top-10 reorder by direct evidence, unless the ranker is on
    # learned from use, relative to the best score (benchmarks/learning.py)
    useful: float = 0.1  # boost of a symbol that was always useful
    not_useful: float = 0.1  # penalty of one that never was
    session: float = 0.0  # boost of what the session was given lately; off, as it has no measurable gain
    ranker: float = 1.0  # weight of the learned ranker: 1 = alone
    ranker_model: str = "tasks"  # or "commits"

    def backwards(self, edge: str) -> float:
        """Return the walk weight of an edge type followed backwards."""
        return BACKWARDS.get(edge, self.edge_weights.get(edge, 0.0) * _BACKWARDS_SHARE)

    def feedback_boost(self, signal: float) -> float:
        """Return the boost for a feedback signal from -1 (never useful) to 1 (always)."""
        return signal * (self.useful if signal > 0 else self.not_useful)


_LEXICAL = Profile(
    "lexical", clause_decay=1, coverage=0, name_precision=0, authority=0, history=0, touched=0, documents=0, place=0, kind_weights={},
    channels={}, fusion=0, proposed=0, direct_hits=0, container_share=0, member_share=0, walk=0, hits=0, folder=0, overload=1,
    namesake=1, reorder=0, ranker=0,
)  # fmt: skip

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        # for golden sets mined from the searched repository's history, where history would leak the answers
        Profile("no-history", history=0, touched=0, channels=CHANNELS | {"history": 0.0}),
        # the same scores without the learned ranker
        Profile("hand-tuned", ranker=0, channels=_FUSED, proposed=0),
        # what a change is likely to touch, learned from public commits; the others rank what is relevant
        Profile(CHANGE, ranker_model="commits", channels=_FUSED, proposed=0),
        _LEXICAL,
        # the replay of seed 003: nothing of the live engine is on
        dataclasses.replace(_LEXICAL, name=SEED, **SETTINGS),
    )
}  # fmt: skip


# User profiles: a built-in profile with some settings changed, checked against the built-in types.

BASE = "base"
_MAX_VALUE = 1e9  # beyond it sums lose precision
# allowed keys of weight tables
_WEIGHT_KEYS: Mapping[str, Callable[[], Collection[str]]] = {
    "kind_weights": lambda: KINDS,
    "edge_weights": lambda: WALKED,
    "channels": lambda: _channel_names(),
}
_CHOICES: Mapping[str, Collection[str]] = {
    "ranker_model": ("tasks", "commits"),
}
# shares: above 1 the formulas turn negative or never converge
_SHARES = frozenset({"coverage", "field_lengths", "restart"})


def from_table(name: str, table: object, origin: str) -> Profile:
    """Build the profile of a table such as `{base = "default", walk = 0.5}`; `origin` names the file in errors."""
    where = f"{origin}: [profile.{name}]"
    if name in PROFILES:
        raise AssayError(f"{where}: '{name}' is built in; give yours another name and write base = \"{name}\"")
    if not isinstance(table, Mapping):
        raise AssayError(f"{where} must be a table of settings")
    base = PROFILES[require_name("base", table.get(BASE, DEFAULT), PROFILES, where)]
    return with_settings(base, name, {key: value for key, value in table.items() if key != BASE}, where)


def with_settings(base: Profile, name: str, table: Mapping[str, Any], where: str) -> Profile:
    """Return a copy of a profile with some settings changed, under another name."""
    if base.name == SEED and (table or name != SEED):
        others = ", ".join(other for other in PROFILES if other != SEED)
        raise AssayError(f"{where}: 'seed' replays a specification and has no settings; base yours on {others}")
    # the default profile has the type of each setting: a base may have an int where a float is allowed
    settings = settings_of(Profile())
    values = {
        key: _check_setting(f"{where} {key}", value, settings[require_name("setting", key, settings, where)], key)
        for key, value in table.items()
    }
    weights = {key: {**getattr(base, key), **value} for key, value in values.items() if isinstance(value, dict)}
    return dataclasses.replace(base, name=name, **{**values, **weights})


def settings_of(profile: Profile) -> dict[str, Any]:
    """Return all settings of a profile, by name."""
    return {field.name: getattr(profile, field.name) for field in dataclasses.fields(profile) if field.name != "name"}


def flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested weights: `edge_weights.calls`."""
    flattened: dict[str, Any] = {}
    for name, value in table.items():
        flattened |= (
            {f"{name}.{key}": weight for key, weight in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return flattened


def nested(table: Mapping[str, Any]) -> dict[str, Any]:
    """Undo `flatten`."""
    tree: dict[str, Any] = {}
    for name, value in table.items():
        setting, dot, key = name.partition(".")
        if dot:
            tree.setdefault(setting, {})[key] = value
        else:
            tree[setting] = value
    return tree


def _check_setting(where: str, value: Any, expected: Any, key: str) -> Any:
    """Return the value in the setting's type; raise AssayError naming the expected type."""
    if key == "edge_weights" and isinstance(value, Mapping):
        for name in [name for name in value if name in EDGE_TYPES and name not in WALKED]:
            raise AssayError(f"{where}.{name} would do nothing: the walk only follows {', '.join(WALKED)}")
    if isinstance(expected, Mapping):
        return _check_weights(where, value, _WEIGHT_KEYS[key]())
    if key in _CHOICES:
        return require_name(key, value, _CHOICES[key], where)
    if isinstance(expected, tuple):
        if not isinstance(value, list) or len(value) != len(expected):
            raise AssayError(f"{where} must be a list of {len(expected)} numbers, not {value!r}")
        return tuple(
            _check_number(where, element, default, key) for element, default in zip(value, expected, strict=True)
        )
    return _check_number(where, value, expected, key)


def _channel_names() -> list[str]:
    from assay.rank.signals.table import channel_names  # here, because it needs numpy

    return channel_names()


def _check_weights(where: str, value: Any, names: Collection[str]) -> dict[str, Any]:
    """Return the weights; raise AssayError for unknown names and values that are not numbers."""
    if not isinstance(value, Mapping):
        raise AssayError(f"{where} must be a table of numbers, not {value!r}")
    return {
        require_name("weight", name, names, where): _check_number(f"{where}.{name}", weight, 1.0, "")
        for name, weight in value.items()
    }


def _check_number(where: str, value: Any, expected: float, key: str) -> float:
    maximum = 1 if key in _SHARES else _MAX_VALUE
    types = (int,) if isinstance(expected, int) else (int, float)
    if type(value) not in types or not 0 <= value <= maximum:
        expected_type = "a whole number" if isinstance(expected, int) else "a number"
        raise AssayError(f"{where} must be {expected_type} from 0 to {maximum:,.0f}, not {value!r}")
    return value if isinstance(expected, int) else float(value)
