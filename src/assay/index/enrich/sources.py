"""Project files, read once and parsed by format: TOML, JSON, YAML, XML and plain text.

All of it is data of the repository: sizes are bounded, XML with a document type (which entities need), YAML whose
aliases expand too far and TOML with very long keys are refused, and a file that cannot be parsed reads as an empty one.
"""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import yaml

from assay.index.scan import read_source
from assay.system.inputs import parse_toml

MAX_BYTES = 500_000  # per file; hand-written ones have a few thousand
_MAX_DEPTH = 40  # of YAML collections; Kubernetes manifests have fifteen levels
_MAX_YAML_VALUES = 50_000  # per file, aliases expanded
_MAX_ALIASED_VALUES = 50_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MOST_PLACES = 20  # of a word that are looked at
_WORD = re.compile(r"[\w@][\w./\\+-]*|\.\.?[\w./\\+-]+")

Value = TypeVar("Value")


class Map(dict[str, Any]):
    """A YAML mapping with the line of each key."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}

    def line_of(self, key: str) -> int:
        return self.lines.get(key, self.line)


class Sources:
    """The project files of a repository, and the paths of all its files."""

    def __init__(self, root: Path, project_files: Collection[str], paths: Collection[str]) -> None:
        self._root, self.project_files, self.paths = root, project_files, frozenset(paths)
        self._parsed: dict[tuple[str, str], Any] = {}
        self.problems: dict[str, str] = {}
        folders = {posixpath.dirname(path) for path in self.paths}
        while parents := {posixpath.dirname(folder) for folder in folders} - folders:
            folders |= parents
        self.folders = frozenset(folders)

    def text(self, path: str) -> str:
        """Return the text of a project file; empty if it is none, is too large or cannot be read."""
        return self._cached("text", path, self._read, "")

    def _read(self, path: str) -> str:
        source = read_source(self._root, path, whole=True)
        if len(source.data) > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES / 1e3:.0f} kB, so what it states is left out")
        return source.data.decode()

    def toml(self, path: str) -> dict[str, Any]:
        return self._cached("toml", path, lambda path: parse_toml(self.text(path)), {})

    def json(self, path: str) -> dict[str, Any]:
        """Return a JSON object; of anything else, an empty one."""
        return as_dict(self._cached("json", path, lambda path: json.loads(self.text(path) or "{}"), {}))

    def yaml(self, path: str) -> list[Any]:
        """Return the documents of a YAML file: strings, lists and `Map`s. Tags are ignored."""
        return self._cached("yaml", path, lambda path: list(_documents(self.text(path))), [])

    def xml(self, path: str) -> ElementTree.Element | None:
        """Return the root element of an XML file, with names without their namespaces."""
        return self._cached("xml", path, lambda path: _element(self.text(path)), None)

    def _cached(self, form: str, path: str, parse: Callable[[str], Value], empty: Value) -> Value:
        key = (form, path)
        if key not in self._parsed:
            self._parsed[key] = empty
            if path in self.project_files:
                try:
                    self._parsed[key] = parse(path)
                except (ValueError, ElementTree.ParseError, yaml.YAMLError, RecursionError, OverflowError) as error:
                    if form != "yaml":  # templates of charts are not YAML, and are meant to be so
                        self.problems.setdefault(path, (str(error) or type(error).__name__).splitlines()[0])
        return self._parsed[key]  # type: ignore[no-any-return]

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """All files by folder, sorted."""
        out: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            out.setdefault(posixpath.dirname(path), []).append(path)
        return out

    def inside(self, base: str, path: str) -> str | None:
        """Return a path, relative to a folder of the repository, as one of the repository; None if it leads outside."""
        if path.startswith(("/", "\\")) or "\0" in path or re.match(r"[A-Za-z]:", path):
            return None
        joined = posixpath.normpath(posixpath.join(base, path.replace("\\", "/")))
        return None if joined == ".." or joined.startswith("../") else joined.removeprefix("./").removeprefix(".")


def as_dict(value: Any) -> dict[str, Any]:
    """Return a mapping; an empty one for anything else, as files of others hold anything."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def at(value: Any, *keys: str) -> Any:
    """Return a nested value of mappings; None where a key is missing."""
    for key in keys:
        value = as_dict(value).get(key)
    return value


def texts_in(value: Any) -> list[str]:
    return [entry for entry in as_list(value) if isinstance(entry, str)]


def line_of(text: str, name: str, start: int = 0) -> int:
    """Return the first line, from an offset on, that begins with a name, else the first that has it; 0 if none has."""
    offsets = _words(text).get(name, [])
    places = offsets[bisect_left(offsets, start) :][:_MOST_PLACES]
    if not places:
        return 0
    begins = (place for place in places if not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t\"'"))
    return line_at(text, next(begins, places[0]))


def line_at(text: str, offset: int) -> int:
    """Return the line of an offset."""
    return bisect_left(_newlines(text), offset) + 1


@lru_cache(maxsize=4)  # a manifest is asked about all its dependencies before the next
def _words(text: str) -> dict[str, list[int]]:
    """Return the offsets of the words of a text, among them package names and paths."""
    out: dict[str, list[int]] = {}
    for match in _WORD.finditer(text):
        out.setdefault(match[0], []).append(match.start())
    return out


@lru_cache(maxsize=4)
def _newlines(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


def _element(text: str) -> ElementTree.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("XML with a document type is not read")
    root = ElementTree.fromstring(text.encode())
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    return root


# YAML


class _Open:
    """A YAML collection under construction."""

    def __init__(self, line: int, anchor: str | None, is_map: bool) -> None:
        self.anchor, self.size = anchor, 1
        self.value: Any = Map(line) if is_map else []
        self.key: str | None = None
        self._merged: list[Any] = []

    def add(self, value: Any, line: int, size: int) -> None:
        self.size += size
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is None:
            self.key = value if isinstance(value, str) else ""
            self.value.lines[self.key] = line
        else:
            if self.key == "<<":
                self._merged += value if isinstance(value, list) else [value]
            else:
                self.value[self.key] = value
            self.key = None

    def close(self) -> Any:
        for merged in self._merged:
            for key, value in merged.items() if isinstance(merged, Map) else ():
                if key not in self.value:
                    self.value[key] = value
                    self.value.lines[key] = merged.line_of(key)
        return self.value


def _documents(text: str) -> Iterator[Any]:
    """Yield the documents of a YAML text. Aliases share a value; their expanded size is bounded all the same."""
    events: Iterable[Any] = yaml.parse(text, Loader=_LOADER)
    opened: list[_Open] = []
    anchors: dict[str, tuple[Any, int]] = {}
    values = aliased = 0
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            if len(opened) >= _MAX_DEPTH:
                raise ValueError(f"line {line}: nested more than {_MAX_DEPTH} levels deep")
            opened.append(_Open(line, event.anchor, isinstance(event, yaml.MappingStartEvent)))
            continue
        if isinstance(event, yaml.ScalarEvent):
            value, size, anchor = str(event.value), 1, event.anchor
        elif isinstance(event, yaml.AliasEvent):
            value, size = anchors.get(str(event.anchor), ("", 1))
            anchor, aliased = None, aliased + size
        elif isinstance(event, yaml.CollectionEndEvent):
            collection = opened.pop()
            value, size, anchor = collection.close(), collection.size, collection.anchor
        else:
            if isinstance(event, yaml.DocumentStartEvent):
                anchors = {}
            continue
        values += 1
        if values > _MAX_YAML_VALUES or aliased > _MAX_ALIASED_VALUES:
            raise ValueError(f"line {line}: more than {_MAX_YAML_VALUES:,} values")
        if anchor:
            anchors[anchor] = value, size
        if opened:
            opened[-1].add(value, line, size)
        else:
            yield value
