"""A grid in YAML: the axes under the names of the options, and combinations to leave out. Every problem is told with its line.

chunk_sizes: [512, 1024]           # structure:512, structure:1024
chunkers: [tokens:1024:128]
embedders: [lsa, none]
rerankers: [none, features]
set: {weights.code: [1.0, 1.2]}    # any other setting
exclude:
  - {embedder: none, reranker: features}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.evaluate.golden.files import read_text
from assay.evaluate.golden.nodes import Fields, Items, Node, Scalar, spoken
from assay.evaluate.golden.problems import Unreadable
from assay.evaluate.golden.yaml_lines import parse
from assay.evaluate.sweep.grid import SEARCH, Grid, of_chunker, of_size
from assay.text.identifiers import nearest

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
