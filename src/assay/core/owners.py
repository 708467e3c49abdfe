"""Rules of a CODEOWNERS file: patterns of paths with the owners of each.

The last rule that matches a path decides, as on GitHub. GitLab's sections each decide for themselves: a path has the
owners of the last matching rule of every section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

# where the file may be; GitHub and GitLab differ in the order, but a repository has one
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
MOST_RULES = 20_000  # a large company's file has a few thousand lines
_LONGEST_PATTERN = 500  # characters; also bounds the regular expression of a wildcard pattern
_MOST_WILDCARDS = 12  # stars of a pattern: more would be slow to match and no forge's users write them

_SECTION = re.compile(r"\^?\[([^\]\n]+)\](?:\[\d+\])?\s*(.*)")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_OWNER = re.compile(r"@[\w.@/-]+|[\w.+-]+@[\w.-]+")
_WILDCARD = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


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
        if word and len(word[0]) <= _LONGEST_PATTERN and word[0].count("*") <= _MOST_WILDCARDS:
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
        last: dict[str, tuple[int, OwnerRule]] = {}
        for position in self._matching(path):
            rule = self.rules[position]
            section = rule.section.lower()
            if section not in last or last[section][0] < position:
                last[section] = position, rule
        return [rule for _, rule in sorted(last.values()) if rule.owners]

    def _matching(self, path: str) -> Iterator[int]:
        """Yield the positions of the rules that match a path. Patterns without wildcards are looked up by prefix."""
        literal, expressions = self._compiled
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            prefix, is_folder = "/".join(parts[:length]), length < len(parts)
            for key in (
                f"/{prefix}",
                parts[length - 1],
                *((f"/{prefix}/", f"{parts[length - 1]}/") if is_folder else ()),
            ):
                yield from literal.get(key, ())
        yield from (position for position, expression in expressions if expression.match(path))

    @cached_property
    def _compiled(self) -> tuple[dict[str, list[int]], list[tuple[int, re.Pattern[str]]]]:
        """Positions of the patterns without wildcards by anchored path or name, and the others as expressions."""
        literal: dict[str, list[int]] = {}
        expressions = []
        for position, rule in enumerate(self.rules):
            if _WILDCARD.search(rule.pattern):
                expressions.append((position, _expression(rule.pattern)))
            else:
                literal.setdefault(_anchored(rule.pattern), []).append(position)
        return literal, expressions


def _anchored(pattern: str) -> str:
    """Return a pattern with a leading slash if it is relative to the root: if a slash is not its last character."""
    return pattern if pattern.startswith("/") or "/" not in pattern[:-1] else f"/{pattern}"


def _expression(pattern: str) -> re.Pattern[str]:
    """Translate a pattern with wildcards, by the rules of gitignore files; `dir/*` matches files of the folder only."""
    anchored = _anchored(pattern)
    body = anchored.removeprefix("/")
    out = "" if anchored.startswith("/") else "(?:.*/)?"
    for token in _TOKEN.findall(body.rstrip("/")):
        out += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token) or re.escape(token)
    if pattern.endswith("/"):
        out += "/.*"
    elif not body.endswith("*") or body == "*":
        out += "(?:/.*)?"
    return re.compile(out + r"\Z", re.DOTALL)
