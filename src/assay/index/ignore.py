"""Ignore files with the patterns of git, in a trie of path segments.

A path is matched folder by folder. A name is looked up only in the nodes that its folder reaches, so the time per file
depends on the patterns that apply there, not on the length of the ignore file. As in git, names are bytes: `?` is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple, TypeAlias

from assay.errors import AssayError
from assay.system.files import TooLarge, read_regular

MAX_LINES = 100_000
_MAX_BYTES = 4_000_000
_MAX_NODES = 500_000  # 0.2 GB; a line has about two of its own

_MAX_LINE = 4_096  # characters: longer than any path
_MAX_GLUED = 2  # `a**/` in a line, each of which stands for two patterns

_MAX_ALIKE = 5_000  # with the same longest text: a name that contains it is matched against each of them, 0.2 µs

_DEEP = "**/"  # segment for any number of folders; other literal segments have no slash
_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(r"(\*+)|(\\?/)|(\[)|\?|\\(.)|([^*?\[\\/]+)", re.S)
_STARS, _SLASH, _BRACKET, _ESCAPED, _TEXT = 1, 2, 3, 4, 5
# Two stars after literal text. Git compares that text first, so that its matcher sees the stars at the beginning.
_GLUED_STARS = re.compile(r"([^*?\[\\]*[^*?\[\\/])\*{2,}(?:(\\?/)(?:\*{2,}/)*(.*))?", re.S)
_SLASH_OR_END = re.compile(r"\\?/|\Z")
_CLASSES = {
    "alnum": "09AZaz", "alpha": "AZaz", "blank": "  \t\t", "cntrl": "\1\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
    "print": " ~", "punct": "!/:@[`{~", "space": "  \t\n\r\r", "upper": "AZ", "xdigit": "09AFaf",
}  # fmt: skip  # first and last characters of the ranges of each


class TooManyPatterns(AssayError):
    """An ignore file exceeds a limit."""


class IgnoreRules:
    """Patterns of one ignore file. Paths are relative to its folder."""

    def __init__(self, text: bytes) -> None:
        self.invalid: list[int] = []  # numbers of lines that are not valid patterns
        self._negated = [False]  # by number of line
        self._root = _Node()
        self._nodes = self._alike = 0
        self._globs: dict[str, Glob] = {}
        for number, line in enumerate(_lines(text), 1):
            self._negated.append(line.startswith("!"))
            if len(line) > _MAX_LINE:
                raise TooManyPatterns(f"line {number:,} has more than {_MAX_LINE:,} characters")
            if line:
                self._add(line.removeprefix("!"), number)
        self._folders = {"": _Folder(tuple(self._root.closure()), False)}

    def _add(self, pattern: str, number: int) -> None:
        paths = _split(pattern.removesuffix("/")) if pattern.strip("/") else []
        if not paths:
            self.invalid.append(number)
        for segments in paths:
            node = self._root
            for segment in segments:
                below = node.child(segment)
                if below is None:
                    if isinstance(segment, Glob):
                        segment = self._globs.setdefault(segment.regex, segment)
                    below = node.add(segment)
                    self._nodes += 1
                    self._alike += isinstance(segment, Glob) and node.has_alike(segment)
                    if self._nodes > _MAX_NODES:
                        raise TooManyPatterns(f"more than {_MAX_NODES:,} different path segments up to line {number:,}")
                node = below
            if self._alike > _MAX_ALIKE:
                raise TooManyPatterns(
                    f"more than {_MAX_ALIKE:,} patterns that differ only in wildcards up to line {number:,}"
                )
            if pattern.endswith("/"):
                node.last_for_folders = number
            else:
                node.last = number

    def verdict(self, path: str, is_folder: bool = False) -> bool | None:
        """Return whether the last pattern that matches a path ignores it; None if no pattern matches it."""
        folder, _, name = _as_bytes(path).rpartition("/")
        last = 0
        for node in self._folder(folder).nodes:
            for child in node.step(name):
                last = max(last, child.last, child.last_for_folders if is_folder else 0)
        return not self._negated[last] if last else None

    def excludes(self, path: str) -> bool:
        """Return whether a file is ignored, by itself or with a folder above it: nothing below that comes back."""
        folder = _as_bytes(path).rpartition("/")[0]
        return (self._folders.get(folder) or self._folder(folder)).excluded or self.verdict(path) is True

    def _folder(self, path: str) -> _Folder:
        """Return what is known of a folder, computed from the nearest folder above it that is known."""
        missing = []
        while path not in self._folders:
            path, _, name = path.rpartition("/")
            missing.append(name)
        folder = self._folders[path]
        for name in reversed(missing):
            path = f"{path}/{name}" if path else name
            folder = self._folders[path] = self._enter(folder, name)
        return folder

    def _enter(self, above: _Folder, name: str) -> _Folder:
        last, nodes = 0, dict[_Node, None]()  # without duplicates, in a stable order
        for node in above.nodes:
            if node.is_deep:
                nodes[node] = None
            for child in node.step(name):
                last = max(last, child.last, child.last_for_folders)
                nodes |= dict.fromkeys(child.closure())
        return _Folder(tuple(nodes), above.excluded or (last > 0 and not self._negated[last]))


class IgnoreEverything:
    """Rules in place of a file that cannot be used: nobody knows what it should hide."""

    def verdict(self, path: str, is_folder: bool = False) -> bool:
        return True

    def excludes(self, path: str) -> bool:
        return True


Rules: TypeAlias = IgnoreRules | IgnoreEverything


def read_rules(root: Path, path: str, problems: dict[str, str]) -> Rules | None:
    """Return the rules of an ignore file; None without one. Like git, does not follow symlinks.

    What is wrong with the file is added to `problems`.
    """
    try:
        text = read_regular(root / path, _MAX_BYTES, follow=False)
        if (lines := text.count(b"\n")) > MAX_LINES:
            raise TooManyPatterns(f"{lines:,} lines, and at most {MAX_LINES:,} are read")
        rules = IgnoreRules(text)
    except TooLarge:
        reason = f"larger than {_MAX_BYTES / 1e6:.0f} MB"
    except TooManyPatterns as error:
        reason = str(error)
    except PermissionError:
        reason = "cannot be read"
    except (OSError, ValueError):
        return None
    else:
        if rules.invalid:
            problems[path] = f"line {rules.invalid[0]} is not a valid pattern and is ignored"
        return rules
    problems[path] = f"{reason}, so nothing in its folder is indexed; shorten it, or remove it"
    return IgnoreEverything()


def _as_bytes(path: str) -> str:
    """Return a path with one character for each byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _lines(text: bytes) -> Iterator[str]:
    """Yield the lines of an ignore file, with a character for each byte; empty for what is no pattern."""
    for line in text.removeprefix(_BOM).decode("latin-1").split("\n"):
        line = line.removesuffix("\r").partition("\0")[0]
        pattern = line.rstrip(" ")
        if pattern != line and (len(pattern) - len(pattern.rstrip("\\"))) % 2:
            pattern += " "  # escaped
        yield "" if line.startswith("#") else pattern


# Patterns


class _Folder(NamedTuple):
    """State of matching in a folder."""

    nodes: tuple[_Node, ...]  # in which the names in the folder are looked up
    excluded: bool


class _Node:
    """Node of the trie: the patterns that have the segments up to it in common."""

    __slots__ = ("_globs", "_literals", "deep", "is_deep", "last", "last_for_folders")

    def __init__(self, is_deep: bool = False) -> None:
        self.is_deep = is_deep  # after `**/`: reached by all folders below, too
        self.deep: _Node | None = None
        self.last = self.last_for_folders = 0  # number of the last line that ends here
        self._literals: dict[str, _Node] | None = None
        self._globs: _Globs | None = None

    def closure(self) -> list[_Node]:
        """Return the nodes in which names are looked up in a folder that reaches this one."""
        return [node for node in (self, self.deep) if node and (node._literals or node._globs)]

    def child(self, segment: Segment) -> _Node | None:
        if isinstance(segment, Glob):
            return self._globs.nodes.get(segment.regex) if self._globs else None
        if segment == _DEEP:
            return self.deep
        return self._literals.get(segment) if self._literals else None

    def add(self, segment: Segment) -> _Node:
        """Add a child for a segment that has none."""
        node = _Node(is_deep=segment == _DEEP)
        if isinstance(segment, Glob):
            self._globs = self._globs or _Globs()
            self._globs.add(segment, node)
        elif node.is_deep:
            self.deep = node
        elif self._literals is None:
            self._literals = {segment: node}
        else:
            self._literals[segment] = node
        return node

    def has_alike(self, glob: Glob) -> bool:
        """Return whether a name may have to be matched against this child and another one."""
        return self._globs is not None and self._globs.has_alike(glob)

    def step(self, name: str) -> list[_Node]:
        """Return the children that a name matches."""
        nodes = self._globs.step(name) if self._globs else []
        if self._literals and (literal := self._literals.get(name)):
            nodes.append(literal)
        return nodes


class _Globs:
    """Children of a node for segments with wildcards, found by the longest literal text in each of them."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Node] = {}  # by regex
        # by place of the text, its length and the text
        self._found_by: dict[str, dict[int, dict[str, list[tuple[Glob, _Node]]]]] = {"head": {}, "tail": {}, "part": {}}

    def has_alike(self, glob: Glob) -> bool:
        return len(self._found_by[glob.place][len(glob.text)][glob.text]) > 1

    def add(self, glob: Glob, node: _Node) -> None:
        self.nodes[glob.regex] = node
        by_text = self._found_by[glob.place].setdefault(len(glob.text), {})
        by_text.setdefault(glob.text, []).append((glob, node))

    def step(self, name: str) -> list[_Node]:
        """Return the nodes of the globs that match a name."""
        end, candidates = len(name), list[tuple[Glob, _Node]]()
        for length, by_text in self._found_by["head"].items():
            candidates += by_text.get(name[:length], ())
        for length, by_text in self._found_by["tail"].items():
            if length <= end:
                candidates += by_text.get(name[end - length :], ())
        for length, by_text in self._found_by["part"].items():
            for text in {name[at : at + length] for at in range(end - length + 1)}:
                candidates += by_text.get(text, ())
        return [node for glob, node in candidates if glob.matches(name)] if candidates else []


class Glob:
    """Segment with wildcards. `chunks` are the texts between its stars, as pairs of regex and literal text."""

    def __init__(self, chunks: list[list[tuple[str, str]]]) -> None:
        literals = [[literal for _, literal in chunk] for chunk in chunks]
        head = "".join(takewhile(bool, literals[0]))
        tail = "".join(reversed(list(takewhile(bool, reversed(literals[-1])))))
        parts = ["".join(run) for chunk in literals for is_text, run in groupby(chunk, bool) if is_text]
        self.text = max([head, tail, *parts], key=len)  # the first of several
        self.place = "head" if self.text == head else "tail" if self.text == tail else "part"
        self._shortest = sum(len(literal) or 1 for chunk in literals for literal in chunk)
        start, *middle = ("".join(regex for regex, _ in chunk) for chunk in chunks)
        # linear time: of a text between two stars, its first place is as good as any other
        self.regex = (
            start + "".join(f"(?>.*?{text})" for text in middle[:-1]) + "".join(f".*{text}" for text in middle[-1:])
        )

    def matches(self, name: str) -> bool:
        return len(name) >= self._shortest and self._fullmatch(name) is not None

    @cached_property
    def _fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.regex, re.S).fullmatch


Segment: TypeAlias = str | Glob
_ANY = Glob([[], []])


def _split(pattern: str, glued_before: int = 0) -> list[list[Segment]]:
    """Return the segments of the paths that a pattern matches; none if it is not valid."""
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if anchored and (glued := _GLUED_STARS.fullmatch(pattern)):
        text, slash, rest = glued.groups()
        if slash is None:
            return _split(f"/{text}*") + _split(f"/{text}*/**")
        if slash == "/" and glued_before == _MAX_GLUED:
            raise TooManyPatterns(f"a line has more than {_MAX_GLUED} times two stars between text and a slash")
        shorter = _split(f"/{text}{rest}", glued_before + 1) if slash == "/" else []
        return _split(f"/{text}*/**/{rest}") + shorter
    segments: list[Segment] = [] if anchored else [_DEEP]
    chunks: list[list[tuple[str, str]]] = [[]]
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return []
        position = token.end()
        if token[_SLASH]:
            segments.append(_segment(chunks))
            chunks = [[]]
        elif token[_STARS]:
            special = anchored and len(token[0]) > 1 and chunks == [[]] and _SLASH_OR_END.match(pattern, position)
            if special:
                segments += [_ANY, _DEEP] if special[0] == "\\/" else [_DEEP]
                position = special.end()
            if not special or not special[0]:
                chunks.append([])
        elif token[_BRACKET]:
            characters, position = _bracket(pattern, position)
            if not characters:
                return []
            chunks[-1].append((_character_class(characters), ""))
        else:
            text = token[_ESCAPED] or token[_TEXT]
            chunks[-1].append((re.escape(text), text) if text else (".", ""))
    segments.append(_segment(chunks))
    return [
        [
            segment
            for segment, before in zip(segments, [None, *segments], strict=False)
            if segment != _DEEP or before != _DEEP
        ]
    ]


def _segment(chunks: list[list[tuple[str, str]]]) -> Segment:
    is_literal = len(chunks) == 1 and all(literal for _, literal in chunks[0])
    return "".join(literal for _, literal in chunks[0]) if is_literal else Glob(chunks)


def _bracket(pattern: str, position: int) -> tuple[set[str], int]:
    """Return the characters that a bracket expression matches, and its end; none if it is not valid.

    `position` follows the opening bracket. A slash is never matched.
    """
    negated = pattern.startswith(("!", "^"), position)
    position += negated
    start, previous = position, ""
    characters = set[str]()
    while position == start or not pattern.startswith("]", position):
        char = pattern[position : position + 1]
        if char == "[" and pattern.startswith(":", position + 1) and (end := _class_end(pattern, position + 2)):
            ranges = _CLASSES.get(pattern[position + 2 : end - 1], "")
            if not ranges:
                return set(), position
            for first, last in zip(ranges[::2], ranges[1::2], strict=True):
                characters |= _range(first, last)
            previous, position = "", end + 1
            continue
        is_range = char == "-" and previous and pattern[position + 1 : position + 2] not in ("", "]")
        position += bool(is_range)
        position += pattern.startswith("\\", position)
        char = pattern[position : position + 1]
        if not char:
            return set(), position
        characters |= _range(previous, char) if is_range else {char}
        previous = "" if is_range else char
        position += 1
    if negated:
        characters = _range("\1", "\xff") - characters
    return characters - {"/"}, position + 1


def _class_end(pattern: str, position: int) -> int:
    """Return the position of the bracket that closes a class such as `[:alpha:]`; 0 if it is no class."""
    end = pattern.find("]", position)
    return end if end > position and pattern[end - 1] == ":" else 0


def _range(first: str, last: str) -> set[str]:
    return {chr(number) for number in range(ord(first), ord(last) + 1)}


def _character_class(characters: set[str]) -> str:
    """Return the regex of a set of characters, as few ranges."""
    numbers = sorted(map(ord, characters))
    starts = [number for number in numbers if chr(number - 1) not in characters]
    ends = [number for number in numbers if chr(number + 1) not in characters]
    ranges = [f"\\x{start:02x}-\\x{end:02x}" for start, end in zip(starts, ends, strict=True)]
    return f"[{''.join(ranges)}]"
