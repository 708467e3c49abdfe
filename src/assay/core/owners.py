"""Rules of a CODEOWNERS file: patterns of paths with the owners of each.

The last rule that matches a path decides, as on GitHub. GitLab's sections each decide for themselves: a path has the
owners of the last matching rule of every section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

# where the file may be; GitHub and GitLab differ in the order, but a repository has one
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
MOST_RULES = 20_000  # a large company's file has a few thousand lines
_LONGEST_PATTERN = 500  # characters

_SECTION = re.compile(r"\^?\[([^\]\n]+)\](?:\[\d+\])?(.*)")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_OWNER = re.compile(r"@[\w.@/-]+|(?<![\w.+-])[\w.+-]+@[\w.-]+")
_WILDCARD = re.compile(r"[*?]")


class OwnerRule(NamedTuple):
    """One line of a CODEOWNERS file. A rule without owners means that nobody owns what it matches."""

    pattern: str
    owners: tuple[str, ...]
    line: int
    section: str = ""


def parse_rules(text: str) -> list[OwnerRule]:
    """Return the rules of a CODEOWNERS file in their order; lines that are not rules are left out."""
    rules: list[OwnerRule] = []
    section, defaults = "", tuple[str, ...]()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if heading := _SECTION.fullmatch(line):
            section, defaults = heading[1].strip(), _owners(heading[2])
            continue
        word = _WORD.match(line)
        if word and len(word[0]) <= _LONGEST_PATTERN:
            owners = _owners(line[word.end() :]) or defaults
            rules.append(OwnerRule(re.sub(r"\\(.)", r"\1", word[0]), owners, number, section))
            if len(rules) == MOST_RULES:
                break
    return rules


def _owners(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_OWNER.findall(text.partition(" #")[0])))


class OwnerRules:
    """The rules of one file, matched against paths relative to the repository."""

    def __init__(self, rules: Iterable[OwnerRule]) -> None:
        self.rules: Sequence[OwnerRule] = tuple(rules)

    def of(self, path: str) -> list[OwnerRule]:
        """Return the rules that decide about a path, one per section, without those that name no owner."""
        last: dict[str, int] = {}
        for position in self._matching(path):
            section = self.rules[position].section.lower()
            last[section] = max(last.get(section, -1), position)
        return [self.rules[position] for position in sorted(last.values()) if self.rules[position].owners]

    def _matching(self, path: str) -> Iterator[int]:
        """Yield the positions of the rules that match a path. Patterns without wildcards are looked up by prefix."""
        literal, globs = self._compiled
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            keys = (f"/{'/'.join(parts[:length])}", parts[length - 1])
            for key in keys:
                yield from literal.get(key, ())
                if length < len(parts):
                    yield from literal.get(f"{key}/", ())
        yield from (position for position, glob in globs if _matches(glob, parts, _matches_segment))

    @cached_property
    def _compiled(self) -> tuple[dict[str, list[int]], list[tuple[int, Glob]]]:
        """Positions of the patterns without wildcards by anchored path or name, and the other patterns."""
        literal: dict[str, list[int]] = {}
        globs = []
        for position, rule in enumerate(self.rules):
            if _WILDCARD.search(rule.pattern):
                globs.append((position, _glob(rule.pattern)))
            else:
                literal.setdefault(_anchored(rule.pattern), []).append(position)
        return literal, globs


Glob = tuple[str, ...]  # segments of a path; `**` stands for any number of them


def _anchored(pattern: str) -> str:
    """Return a pattern with a leading slash if it is relative to the root: if a slash is not its last character."""
    return pattern if pattern.startswith("/") or "/" not in pattern[:-1] else f"/{pattern}"


def _glob(pattern: str) -> Glob:
    """Return the segments of a pattern, by the rules of gitignore files; `dir/*` matches files of the folder only."""
    anchored = _anchored(pattern)
    parts = tuple(anchored.strip("/").split("/"))
    if not anchored.startswith("/"):
        parts = ("**", *parts)
    if pattern.endswith("/"):
        return (*parts, "*", "**")
    return parts if parts[-1] == "*" and "/" in pattern else (*parts, "**")


def _matches(glob: Sequence[str], parts: Sequence[str], is_match: Callable[[str, str], bool], many: str = "**") -> bool:
    """Return whether a sequence matches a glob, in time proportional to the product of their lengths.

    Only the last wildcard is retried: where an earlier one ends makes no difference after a later one begins.
    """
    position = place = 0
    last, retried = -1, 0
    while place < len(parts):
        if position < len(glob) and glob[position] == many:
            last, retried, position = position, place, position + 1
        elif position < len(glob) and is_match(glob[position], parts[place]):
            position, place = position + 1, place + 1
        elif last >= 0:
            retried += 1
            position, place = last + 1, retried
        else:
            return False
    return all(part == many for part in glob[position:])


def _matches_segment(pattern: str, segment: str) -> bool:
    if not _WILDCARD.search(pattern):
        return pattern == segment
    return _matches(pattern, segment, lambda expected, character: expected in ("?", character), "*")
