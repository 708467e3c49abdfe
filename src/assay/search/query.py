"""The query language of `assay search`: words, "exact phrases", /regular expressions/ and filters.

`parse` splits a query into its parts and never fails: what is no operator is a word. docs/guides/query-language.md
describes the syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Operators begin a token and stay on a line. Quoted text ends at the next quote of its sort, a regular expression at a
# slash that ends the token. That slash must be the first one inside, so `/etc/hosts` and `/etc/hosts/` are words; no
# blank stands next to a delimiter, so `either / or /` has no operator; and an expression cannot begin with a star, so
# `/* comment */` is words.
_STRAIGHT = r'"(?P<{0}>(?:[^"\\\n]|\\.)*)"'
_CURLY = r"[“”„](?P<{0}>[^“”„\n]*)[“”„]"
_REGEX = r"/(?![\s*])(?P<regex>(?:[^/\\\n]|\\.)+)(?<!\s)/(?P<flags>i?)(?!\S)"
_TOKEN = re.compile(
    rf"""
    (?<!\S)(?P<minus>-)?
    (?:
        (?P<field>path|lang|language|kind):
        (?:(?:{_STRAIGHT.format("straight_value")}|{_CURLY.format("curly_value")})(?!\S)|(?P<value>[^\s":“”„]\S*))
      | {_STRAIGHT.format("straight")} | {_CURLY.format("curly")}
      | {_REGEX}
    )
  | (?<!\S)-(?P<excluded>[^\W\d_]\S+)  # two characters at least: `git log -p` has an option, no exclusion
  | (?P<word>\S+)
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(r'\\(")')
_SLASH = re.compile(r"\\(/)")
_FIELDS = {"language": "lang"}  # other names of a field

# Constructs of regular expressions whose capitals are syntax: \W, \pL, \x4F, (?P<Name>
_SYNTAX = re.compile(r"\\[pP](?:\{[^}]*\}|.)|\\x(?:\{[^}]*\}|..?)|\\.|\(\?P?<\w+>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Exact:
    """A phrase or regular expression that results must match, or must not if `excluded`."""

    text: str
    regex: bool = False
    ignore_case: bool = True
    excluded: bool = False

    def __str__(self) -> str:
        written = self.text.replace("/", r"\/") if self.regex else self.text.replace('"', r"\"")
        return ("-" if self.excluded else "") + (f"/{written}/" if self.regex else f'"{written}"')


@dataclass(frozen=True, slots=True)
class Restriction:
    """A filter of a query; `field` is path, lang or kind."""

    field: str
    value: str
    excluded: bool = False

    def __str__(self) -> str:
        value = f'"{self.value}"' if any(map(str.isspace, self.value)) else self.value
        return f"{'-' if self.excluded else ''}{self.field}:{value}"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: words to rank by, exact parts, filters."""

    words: str = ""
    exact: tuple[Exact, ...] = ()
    restrictions: tuple[Restriction, ...] = ()

    @property
    def is_plain(self) -> bool:
        """True without any operator."""
        return not (self.exact or self.restrictions)

    @property
    def required(self) -> tuple[Exact, ...]:
        return tuple(part for part in self.exact if not part.excluded)

    @property
    def excluded(self) -> tuple[Exact, ...]:
        return tuple(part for part in self.exact if part.excluded)


def parse(text: str) -> Query:
    """Parse a query; never raises. A query without operators has its own text as words."""
    words, exact, restrictions = list[str](), list[Exact](), list[Restriction]()
    for match in _TOKEN.finditer(text):
        part = _part(match)
        if isinstance(part, Exact):
            exact.append(part)
        elif isinstance(part, Restriction):
            restrictions.append(part)
        else:
            words.append(part)
    if not (exact or restrictions):
        return Query(text)
    return Query(" ".join(words), tuple(exact), tuple(restrictions))


def _part(match: re.Match[str]) -> Exact | Restriction | str:
    """Return the operator of a token, or its text."""
    token = match.groupdict()
    excluded = token["minus"] is not None
    if token["field"]:
        value = next(filter(None, (_unquoted(token, "_value"), token["value"])), "").strip()
        return Restriction(_FIELDS.get(token["field"], token["field"]), value, excluded) if value else match[0]
    if token["regex"]:
        pattern = _SLASH.sub(r"\1", token["regex"])
        return Exact(pattern, True, bool(token["flags"]) or _is_lower(_SYNTAX.sub("", pattern)), excluded)
    if token["excluded"]:
        return Exact(token["excluded"], ignore_case=_is_lower(token["excluded"]), excluded=True)
    phrase = _unquoted(token, "")
    return Exact(phrase, ignore_case=_is_lower(phrase), excluded=excluded) if phrase.strip() else match[0]


def _unquoted(token: dict[str, str | None], suffix: str) -> str:
    return _QUOTED.sub(r"\1", token[f"straight{suffix}"] or "") or token[f"curly{suffix}"] or ""


def _is_lower(text: str) -> bool:
    """Return whether a text has no upper-case letter: smart case then ignores case."""
    return not any(map(str.isupper, text))
