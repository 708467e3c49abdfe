"""Ignore files (`.gitignore`, `.assayignore`): which paths their patterns leave out.

The patterns come with the repository, so the file is read up to a limit, a pattern that cannot be used costs itself, and matching takes
linear time: `a*a*a*a*b` must not try every way to divide a long name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.system.files import read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MOST_BYTES = 300_000
_MOST_PATTERNS = 5_000  # each path is compared with each
_STAR, _ANY_FOLDERS, _ANYWHERE = "[^/]*", "(?:/.+)?/", "^(?:.+/)?"  # as pathspec writes `*`, `/**/` and a leading `**/`
_GROUP = "(?P<ps_d>"  # the name pathspec gives a group; a name may stand in an expression once
_NEGATED = re.compile(r"(?<!\\)\[\^(?!/\])")  # a class of characters; as in git it never has the slash
_STARS = re.compile(r"(?:\[\^/\]\*){2,}")
# a star and what follows it, before another star of the same name
_STAR_AND_TEXT = re.compile(r"\[\^/\]\*((?:\\.|\[(?!\^/\]\*)\^?\]?[^\]]*\]|[^\\\[\]/()*+?])+)(?=\[\^/\]\*)", re.S)


class Rules:
    """The patterns of an ignore file. Most paths match none of them, which a single expression for all of them finds out."""

    def __init__(self, spec: GitIgnoreSpec) -> None:
        self._spec = spec
        expressions = (pattern.regex for pattern in spec.patterns)
        alternatives = "|".join(f"(?:{expression.pattern})" for expression in expressions if expression)
        self._any = re.compile(alternatives.replace(_GROUP, "(?:"))

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is left out, or None when no pattern matches it. A folder's path ends with a slash."""
        return self._spec.check_file(path).include if self._any.search(path) else None


def read_rules(root: Path, path: str, problems: dict[str, str]) -> Rules | None:
    """Return the rules of an ignore file; None when there are none. Put what is wrong with it into `problems`.

    A symbolic link is not followed, as git does not.
    """
    try:
        text = read_regular(root / path, _MOST_BYTES, follow=False).decode("utf-8", "replace")
    except AssayError:
        problems[path] = f"larger than {_MOST_BYTES / 1e3:.0f} kB: its patterns are not applied"
        return None
    except (OSError, ValueError):
        return None
    lines = text.splitlines()
    if len(lines) > _MOST_PATTERNS:
        problems[path] = f"only its first {_MOST_PATTERNS:,} lines are applied"
        del lines[_MOST_PATTERNS:]
    spec = _compile(lines, path, problems)
    return Rules(spec) if any(pattern.include is not None for pattern in spec.patterns) else None


def _compile(lines: list[str], path: str, problems: dict[str, str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error, OverflowError, RecursionError):
        valid = [_is_valid(line) for line in lines]
        problems[path] = f"line {valid.index(False) + 1} is no pattern and not applied"
        spec = GitIgnoreSpec.from_lines(line for line, good in zip(lines, valid, strict=True) if good)
    for pattern in spec.patterns:
        regex = getattr(pattern, "regex", None)
        if regex is not None and (linear := linear_time(regex.pattern)) != regex.pattern:
            pattern.regex = re.compile(linear)
    return spec


def _is_valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error, OverflowError, RecursionError):
        return False
    return True


def linear_time(regex: str) -> str:
    """Rewrite a regular expression of pathspec so that matching does not backtrack from a wildcard into an earlier one.

    The first place where the text behind a wildcard fits is as good as any other, as long as another wildcard follows.
    """
    if regex.count("*") + regex.count("+") < 2:
        return regex
    regex = _NEGATED.sub("[^/", regex)
    regex = _STAR_AND_TEXT.sub(r"(?>[^/]*?\1)", _STARS.sub(_STAR, regex))
    first, *rest = regex.split(_ANY_FOLDERS)
    if not rest or not all(rest):
        return regex
    if first.startswith(_ANYWHERE) and first != _ANYWHERE:
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANYWHERE)}(?=/))"
    return first + "".join(f"(?>(?:/.+?)??/{text}(?=/))" for text in rest[:-1]) + _ANY_FOLDERS + rest[-1]
