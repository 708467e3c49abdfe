"""Sweep grids: axes of settings, exclusions, YAML grid files and configuration names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from assay.errors import AssayError
from assay.evaluate.golden.format import read_text
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, Unreadable, describe_node, parse
from assay.evaluate.golden.records import unknown_field
from assay.evaluate.systems import PLACEHOLDER, is_external
from assay.text.chunk import parse as chunker
from assay.text.display import counted, printable
from assay.text.suggest import did_you_mean

SEARCH = "search"  # system with chunkers, embedders and rerankers
ENGINE = "assay"  # system with ranking parameters
SETTABLE = (SEARCH, ENGINE)  # systems whose SPEC takes settings
MAX_CONFIGURATIONS = 1000  # configurations; more is probably a mistake in the grid
NONE = "none"

SHARED = ("chunker", "embedder", "reranker")  # search settings listed in every report

# default axes of a search sweep: the sizes and the two rerankers of seed 004
DEFAULT_AXES: Mapping[str, tuple[str, ...]] = {
    "chunker": tuple(f"structure:{size}" for size in (512, 1024, 2048, 4096)),
    "embedder": ("lsa",),
    "reranker": (NONE, "features"),
}

Axes = Mapping[str, Sequence[str]]  # setting → values


@dataclass(frozen=True, slots=True)
class Configuration:
    """A system with settings: a cell of the grid. Without settings, the repository's configuration applies."""

    system: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> str:
        """The SPEC for `eval run --system`: settings replace their `{name}`, else are appended."""
        spec, appended = self.system, []
        for name, value in self.settings.items():
            if f"{{{name}}}" in spec:
                spec = spec.replace(f"{{{name}}}", value)
            else:
                appended.append(f"{name}={value}")
        return f"{spec}{',' if ':' in spec else ':'}{','.join(appended)}" if appended else spec


@dataclass(frozen=True, slots=True)
class Grid:
    """A system, axes of its settings, and excluded combinations."""

    system: str = SEARCH
    axes: Axes = field(default_factory=dict)
    excluded: Sequence[Mapping[str, str]] = ()

    def configurations(self) -> list[Configuration]:
        """Return every combination, the last axis varying fastest. Raises AssayError for an invalid grid."""
        axes = dict(DEFAULT_AXES) | dict(self.axes) if self.system == SEARCH else dict(self.axes)
        self._check(axes)
        combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        for exclusion in self.excluded:
            if not any(_contains(settings, exclusion) for settings in combinations):
                text = ", ".join(f"{name}={value}" for name, value in exclusion.items())
                raise AssayError(f"exclusion {text} matches no configuration")
        included = [
            settings
            for settings in combinations
            if not any(_contains(settings, exclusion) for exclusion in self.excluded)
        ]
        if not included:
            raise AssayError("every configuration is excluded; keep at least one")
        return [Configuration(self.system, settings) for settings in included]

    def _check(self, axes: Axes) -> None:
        kind = self.system.partition(":")[0]
        for name, values in axes.items():
            if PLACEHOLDER.fullmatch(f"{{{name}}}"):
                raise AssayError(f"{name} is not a setting: a run fills in {{{name}}} itself; rename the setting")
            if kind not in SETTABLE and f"{{{name}}}" not in self.system:
                raise AssayError(
                    f"the system '{self.system}' has no placeholder for {name}; write {{{name}}} where it belongs, "
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
        if size > MAX_CONFIGURATIONS:
            raise AssayError(
                f"the grid has {counted(size, 'configuration')}; the limit of a sweep is {MAX_CONFIGURATIONS:,}. Give fewer values"
            )
        for name in {name for exclusion in self.excluded for name in exclusion} - set(axes):
            raise AssayError(f"cannot exclude by '{name}', which is not an axis.{did_you_mean(name, axes)}")


def _contains(settings: Mapping[str, str], subset: Mapping[str, str]) -> bool:
    return all(settings.get(name) == value for name, value in subset.items())


def chunker_of_size(size: str) -> str:
    """Return the structure chunker of a size: `512` → `structure:512`."""
    return str(chunker(f"structure:{size}"))


def canonical_chunker(spec: str) -> str:
    """Return the canonical SPEC of a chunker."""
    return str(chunker(spec))


# Grid files (YAML); errors state the line

# field → its setting, and the converter of its values
_AXES: dict[str, tuple[str, Callable[[str], str]]] = {
    "chunk_sizes": ("chunker", chunker_of_size),
    "chunkers": ("chunker", canonical_chunker),
    "embedders": ("embedder", str),
    "rerankers": ("reranker", str),
}
_FIELDS = ("system", *_AXES, "set", "exclude")
_SINGULAR = {"chunk_size": ("chunker", chunker_of_size), "chunker": ("chunker", canonical_chunker)}


def read(path: Path) -> Grid:
    """Read the grid of a YAML file. Raises AssayError with the line of a problem."""
    try:
        return _grid(parse(read_text(path)))
    except Unreadable as error:
        raise AssayError(error.located(path)) from None


def _grid(root: Node | None) -> Grid:
    if not isinstance(root, Fields):
        raise Unreadable(root.line if root else 1, f"a grid is a mapping of {', '.join(_FIELDS)}")
    fields = root.values
    for name in fields:
        if name not in _FIELDS:
            raise Unreadable(root.lines[name], unknown_field(name, _FIELDS))
    axes: dict[str, list[str]] = {}
    for name, (setting, convert) in _AXES.items():
        if name in fields:
            axes.setdefault(setting, []).extend(_convert(node, convert) for node in _texts(name, fields[name]))
    if "set" in fields:
        axes |= _settings(fields["set"])
    system = _text("system", fields["system"]).text if "system" in fields else SEARCH
    excluded = _items("exclude", fields["exclude"]) if "exclude" in fields else ()
    return Grid(system, axes, [_excluded(node) for node in excluded])


def _settings(node: Node) -> dict[str, list[str]]:
    if not isinstance(node, Fields):
        raise Unreadable(
            node.line, f"`set` must be a mapping of settings to lists of values, not {describe_node(node)}"
        )
    return {name: [item.text for item in _texts(name, values)] for name, values in node.values.items()}


def _excluded(node: Node) -> dict[str, str]:
    if not isinstance(node, Fields) or not node.values:
        example = "{embedder: none, reranker: features}"
        raise Unreadable(node.line, f"`exclude` must list mappings such as {example}, not {describe_node(node)}")
    settings = {}
    for name, value in node.values.items():
        setting, convert = _SINGULAR.get(name, (name, str))
        settings[setting] = _convert(_text(name, value), convert)
    return settings


def _texts(name: str, node: Node) -> list[Scalar]:
    scalars = [_text(name, item) for item in _items(name, node)]
    if not scalars:
        raise Unreadable(node.line, f"`{name}` has no values to try")
    return scalars


def _items(name: str, node: Node) -> tuple[Node, ...]:
    """Return the items of a list; a single value counts as a list of one."""
    if isinstance(node, Items):
        return node.items
    if isinstance(node, Scalar) and node.kind != "nothing":
        return (node,)
    raise Unreadable(node.line, f"`{name}` must be a list, not {describe_node(node)}")


def _text(name: str, node: Node) -> Scalar:
    if not isinstance(node, Scalar) or node.kind == "nothing" or not node.text.strip():
        raise Unreadable(node.line, f"`{name}` must hold plain values, not {describe_node(node)}")
    return node


def _convert(node: Scalar, convert: Callable[[str], str]) -> str:
    """Convert a value for its setting; errors state the line."""
    try:
        return convert(node.text)
    except AssayError as error:
        raise Unreadable(node.line, str(error)) from None


# Axes of the command line


def axes_of(options: Mapping[str, str | None], assignments: Sequence[str]) -> dict[str, list[str]]:
    """Return the axes of options such as `chunk_sizes="512,1024"` and of assignments `NAME=VALUE,VALUE`."""
    axes: dict[str, list[str]] = {}
    for name, (setting, convert) in _AXES.items():
        axes.setdefault(setting, []).extend(map(convert, _split(f"--{name.replace('_', '-')}", options.get(name))))
    for text in assignments:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise AssayError(f"--set {text}: write it as NAME=VALUE,VALUE")
        if axes.get(name):
            raise AssayError(f"--set {text}: {name} is given twice")
        axes[name] = _split(f"--set {name}", values)
    return {name: values for name, values in axes.items() if values}


def _split(option: str, text: str | None) -> list[str]:
    if text is None:
        return []
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise AssayError(f"{option} '{text}' has an empty value; write values with commas between them")
    return values


def combine(path: Path | None, system: str | None, axes: Axes, trusted: bool) -> Grid:
    """Return the grid of a file, if any, with the system and axes of the command line taking precedence.

    Raises AssayError if an untrusted file would start a program or contact a server.
    """
    grid = read(path) if path else Grid()
    spec = system or grid.system
    if path and not trusted:
        if system is None and is_external(spec):
            raise AssayError(
                printable(f"{path}: names the system {spec}; pass it as --system, or allow it with --trust-grid")
            )
        filled = [(name, value) for name, values in grid.axes.items() if name not in axes for value in values]
        if risky := next((f"{name} {value}" for name, value in filled if not _is_harmless(spec, name, value)), ""):
            problem = f"{path}: {risky} becomes part of a command, or contacts a server"
            raise AssayError(printable(f"{problem}; pass it as an option, or allow it with --trust-grid"))
    return Grid(spec, {**grid.axes, **axes}, grid.excluded)


def _is_harmless(system: str, name: str, value: str) -> bool:
    """Return True if a file may set this: ranking parameters and local models, not command lines or addresses."""
    kind = system.partition(":")[0]
    return kind == ENGINE or (kind == SEARCH and not is_external(f"{SEARCH}:{name}={value}"))


# Names: `chunk_512_no_rerank` as in seed 004, plus the other varied settings

_UNSAFE = re.compile(r"[^\w.+-]+")
_LONGEST = 40  # characters of a value in a name


def names(configurations: Sequence[Configuration]) -> list[str]:
    """Return a unique name per configuration, in order."""
    varied = {
        setting: list(
            dict.fromkeys(
                configuration.settings[setting] for configuration in configurations if setting in configuration.settings
            )
        )
        for setting in dict.fromkeys(name for configuration in configurations for name in configuration.settings)
    }
    joined = [
        "_".join(_part(name, value, varied[name]) for name, value in configuration.settings.items())
        for configuration in configurations
    ]
    base_names = [
        re.sub("_+", "_", name).strip("_") or _short(configuration.system)
        for name, configuration in zip(joined, configurations, strict=True)
    ]
    unique_names: list[str] = []
    for name in base_names:
        number = 1
        while (unique := f"{name}_{number}" if number > 1 else name) in unique_names:
            number += 1
        unique_names.append(unique)
    return unique_names


def _part(setting: str, value: str, values: Sequence[str]) -> str:
    """Return a setting's part of a name; embedders and rerankers are named only where several are tried."""
    if setting == "chunker":
        kind, _, size = value.partition(":")
        return f"{'chunk' if kind == 'structure' else kind}_{size.replace(':', '_')}"
    if setting == "embedder":
        return "" if len(values) == 1 else "lexical" if value == NONE else _short(value)
    if setting == "reranker":
        models = [model for model in values if model != NONE]
        return "no_rerank" if value == NONE else "with_rerank" if len(models) == 1 else f"rerank_{_short(value)}"
    return f"{setting.rpartition('.')[2]}_{_short(value)}"


def _short(value: str) -> str:
    """`folder:models/bge-small` → bge-small, `openai:http://host/v1#nomic` → nomic."""
    last = value.rpartition("#")[2] if "#" in value else value.rstrip("/").rpartition("/")[2]
    return _UNSAFE.sub("_", last).strip("_")[:_LONGEST]
