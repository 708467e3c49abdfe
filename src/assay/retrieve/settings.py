"""A profile of the user's own: a built-in one with some of its numbers changed, checked by what the built-in one has there."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from assay.core.edges import EDGE_TYPES
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.retrieve.profile import CHANNELS, DEFAULT, PROFILES, Profile
from assay.text.identifiers import nearest

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
