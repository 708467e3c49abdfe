"""Grids: axes of settings, exclusions, YAML grid files and names of configurations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from assay.errors import AssayError
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, Unreadable, parse, read_text, spoken
from assay.evaluate.systems.protocol import PLACEHOLDER
from assay.text.chunk import parse as chunker
from assay.text.display import counted
from assay.text.terms import nearest

SEARCH = "search"  # the system that has chunkers, embedders and rerankers
ENGINE = "assay"  # the system that has the numbers of a ranking
SETTABLE = (SEARCH, ENGINE)  # systems that take settings behind their name
MOST = 1000  # configurations; more is a slip in the grid, not a plan
NONE = "none"

SHARED = ("chunker", "embedder", "reranker")  # the settings of a search that every report names

# what a sweep of passages tries where nothing else is said: the sizes and the two rerankers of seed 004
USUAL: Mapping[str, tuple[str, ...]] = {
    "chunker": tuple(f"structure:{size}" for size in (512, 1024, 2048, 4096)),
    "embedder": ("lsa",),
    "reranker": (NONE, "features"),
}

Axes = Mapping[str, Sequence[str]]  # setting → the values to try


@dataclass(frozen=True, slots=True)
class Configuration:
    """A system with settings: one cell of the grid. Without settings it is what the repository has configured."""

    system: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> str:
        """What `--system` of `eval run` takes: settings stand at their `{name}`, or behind a system that takes settings."""
        spec, behind = self.system, []
        for name, value in self.settings.items():
            if f"{{{name}}}" in spec:
                spec = spec.replace(f"{{{name}}}", value)
            else:
                behind.append(f"{name}={value}")
        return f"{spec}{',' if ':' in spec else ':'}{','.join(behind)}" if behind else spec


@dataclass(frozen=True, slots=True)
class Grid:
    """A system, axes of its settings, and combinations that are left out."""

    system: str = SEARCH
    axes: Axes = field(default_factory=dict)
    excluded: Sequence[Mapping[str, str]] = ()

    def configurations(self) -> list[Configuration]:
        """Every combination, the last axis changing fastest."""
        axes = dict(USUAL) | dict(self.axes) if self.system == SEARCH else dict(self.axes)
        self._check(axes)
        combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        for one in self.excluded:
            if not any(_has(settings, one) for settings in combinations):
                raise AssayError(f"excluding {_written(one)} excludes nothing; no configuration has it")
        kept = [one for one in combinations if not any(_has(one, excluded) for excluded in self.excluded)]
        if not kept:
            raise AssayError("every configuration is excluded; leave one")
        return [Configuration(self.system, settings) for settings in kept]

    def _check(self, axes: Axes) -> None:
        kind = self.system.partition(":")[0]
        for name, values in axes.items():
            if PLACEHOLDER.fullmatch(f"{{{name}}}"):
                raise AssayError(
                    f"{name} is no setting: a run fills in {{{name}}} itself; give the setting another name"
                )
            if kind not in SETTABLE and f"{{{name}}}" not in self.system:
                raise AssayError(
                    f"the system '{self.system}' has no place for {name}; write {{{name}}} where it belongs, "
                    f"as in 'cmd:search --{name} {{{name}}} {{query}}'"
                )
            if len(set(values)) < len(values):
                twice = next(value for value in values if list(values).count(value) > 1)
                raise AssayError(f"{name} {twice} is given twice")
            if not values:
                raise AssayError(f"{name} has no values to try")
        size = 1
        for values in axes.values():
            size *= len(values)
        if size > MOST:
            raise AssayError(
                f"the grid has {counted(size, 'configuration')}; a sweep tries {MOST:,} at most. Give fewer values"
            )
        for name in {name for one in self.excluded for name in one} - set(axes):
            near = nearest(name, axes, 1)
            raise AssayError(
                f"cannot exclude by '{name}', which is no axis." + (f" Did you mean '{near[0]}'?" if near else "")
            )


def _has(settings: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(settings.get(name) == value for name, value in wanted.items())


def _written(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def of_size(size: str) -> str:
    """`512` → the chunker of sections of that size."""
    return str(chunker(f"structure:{size}"))


def of_chunker(spec: str) -> str:
    """A chunker as it is always written."""
    return str(chunker(spec))


# A grid in YAML: the axes under the names of the options, and combinations to leave out. Every problem is told with
# its line.

# field → the setting it is an axis of, and how a value of it is written as one of the setting
_AXES: dict[str, tuple[str, Callable[[str], str]]] = {
    "chunk_sizes": ("chunker", of_size),
    "chunkers": ("chunker", of_chunker),
    "embedders": ("embedder", str),
    "rerankers": ("reranker", str),
}
_FIELDS = ("system", *_AXES, "set", "exclude")
_SINGULAR = {"chunk_size": ("chunker", of_size), "chunker": ("chunker", of_chunker)}


def read(path: Path) -> Grid:
    """The grid of a file."""
    try:
        root = parse(read_text(path))
    except Unreadable as error:
        raise _wrong(path, error.line, error.message) from None
    if not isinstance(root, Fields):
        raise _wrong(path, root.line if root else 1, f"a grid is a mapping of {', '.join(_FIELDS)}")
    for name in root.values:
        if name not in _FIELDS:
            near = nearest(name, _FIELDS, 1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; a grid has {', '.join(_FIELDS)}"
            raise _wrong(path, root.lines[name], f"unknown field `{name}`{hint}")
    axes: dict[str, list[str]] = {}
    for name, (setting, written) in _AXES.items():
        if name in root.values:
            values = [_in_line(path, one, written) for one in _texts(path, name, root.values[name])]
            axes.setdefault(setting, []).extend(values)
    axes |= dict(_settings(path, root.values["set"])) if "set" in root.values else {}
    system = _text(path, "system", root.values["system"]).text if "system" in root.values else SEARCH
    excluded = (
        [_excluded(path, one) for one in _items(path, "exclude", root.values["exclude"])]
        if "exclude" in root.values
        else []
    )
    return Grid(system, axes, excluded)


def _settings(path: Path, node: Node) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(node, Fields):
        raise _wrong(path, node.line, f"`set` must be a mapping of settings to lists of values, not {spoken(node)}")
    for name, values in node.values.items():
        yield name, [one.text for one in _texts(path, name, values)]


def _excluded(path: Path, node: Node) -> dict[str, str]:
    if not isinstance(node, Fields) or not node.values:
        raise _wrong(
            path,
            node.line,
            f"`exclude` must list mappings such as {{embedder: none, reranker: features}}, not {spoken(node)}",
        )
    out = {}
    for name, value in node.values.items():
        setting, written = _SINGULAR.get(name, (name, str))
        out[setting] = _in_line(path, _text(path, name, value), written)
    return out


def _texts(path: Path, name: str, node: Node) -> list[Scalar]:
    found = [_text(path, name, one) for one in _items(path, name, node)]
    if not found:
        raise _wrong(path, node.line, f"`{name}` has no values to try")
    return found


def _items(path: Path, name: str, node: Node) -> tuple[Node, ...]:
    """The items of a list; a single value is a list of one."""
    if isinstance(node, Items):
        return node.items
    if isinstance(node, Scalar) and node.kind != "nothing":
        return (node,)
    raise _wrong(path, node.line, f"`{name}` must be a list, not {spoken(node)}")


def _text(path: Path, name: str, node: Node) -> Scalar:
    if not isinstance(node, Scalar) or node.kind == "nothing" or not node.text.strip():
        raise _wrong(path, node.line, f"`{name}` must hold plain values, not {spoken(node)}")
    return node


def _in_line(path: Path, node: Scalar, written: Callable[[str], str]) -> str:
    """A value as its setting writes it; what is wrong with it is told with the line."""
    try:
        return written(node.text)
    except AssayError as error:
        raise _wrong(path, node.line, str(error)) from None


def _wrong(path: Path, line: int, message: str) -> AssayError:
    return AssayError(f"{path}:{line}: {message}" if line else f"{path}: {message}")


# What configurations are called: `chunk_512_no_rerank` as in seed 004, with whatever else tells them apart.

_OTHER = re.compile(r"[^\w.+-]+")
_LONGEST = 40  # characters of a value in a name


def names(configurations: Sequence[Configuration]) -> list[str]:
    """A name for each configuration, in order; no two are the same."""
    varied = {
        setting: list(dict.fromkeys(one.settings[setting] for one in configurations if setting in one.settings))
        for setting in dict.fromkeys(name for one in configurations for name in one.settings)
    }
    found = [
        "_".join(_part(name, value, varied[name]) for name, value in one.settings.items()) for one in configurations
    ]
    plain = [
        re.sub("_+", "_", name).strip("_") or _short(one.system)
        for name, one in zip(found, configurations, strict=True)
    ]
    out: list[str] = []
    for name in plain:
        number = 1
        while (unique := f"{name}_{number}" if number > 1 else name) in out:
            number += 1
        out.append(unique)
    return out


def _part(setting: str, value: str, values: Sequence[str]) -> str:
    """One setting in a name; an embedder only where there are several, a reranker by name only where there are several."""
    if setting == "chunker":
        kind, _, size = value.partition(":")
        return f"{'chunk' if kind == 'structure' else kind}_{size.replace(':', '_')}"
    if setting == "embedder":
        return "" if len(values) == 1 else "lexical" if value == NONE else _short(value)
    if setting == "reranker":
        models = [one for one in values if one != NONE]
        return "no_rerank" if value == NONE else "with_rerank" if len(models) == 1 else f"rerank_{_short(value)}"
    return f"{setting.rpartition('.')[2]}_{_short(value)}"


def _short(value: str) -> str:
    """`folder:models/bge-small` → bge-small, `openai:http://host/v1#nomic` → nomic."""
    last = value.rpartition("#")[2] if "#" in value else value.rstrip("/").rpartition("/")[2]
    return _OTHER.sub("_", last).strip("_")[:_LONGEST]
