"""Which definitions a hunk of a patch touches, by name: from the lines it changes and the definition that git finds above it.

Git and this module look for definitions with the same patterns, so they are written in what Python and POSIX regular expressions share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

_WORD = "[A-Za-z_$][A-Za-z0-9_$]*"
_KEYWORDS = "def|class|func|fn|fun|function|interface|trait|struct|enum|type|module|mod|object|record|protocol|macro_rules!|namespace|union"
_MODIFIERS = (
    "export|default|declare|public|private|protected|internal|static|abstract|final|sealed|open|override|partial"
    "|async|pub|pub[(][a-z]+[)]|unsafe|const|data|inline|local"
)
_KEYWORD_LINE = rf"^([ \t]*(({_MODIFIERS})[ \t]+)*({_KEYWORDS})[ \t*].*)$"
_ASSIGNMENT = (
    rf"^((export[ \t]+)?(pub([(][a-z]+[)])?[ \t]+)?((const|let|var|val|static)[ \t]+)?{_WORD}[ \t]*(:[^=]*)?=[^=].*)$"
)
_TYPED = r"^([ \t]*([A-Za-z_@<\[][^ \t(=;]*[ \t]+)+[*&]*[A-Za-z_~][A-Za-z0-9_:~]*[ \t]*[(][^;]*)$"
_BRACED = rf"^([ \t]+([a-z]+[ \t]+)*[*#]?{_WORD}[ \t]*[(][^;]*[)][^;=]*[{{][ \t]*)$"
# lines of this shape that are no definitions
_STATEMENTS = "if|else|elif|for|foreach|while|switch|catch|return|throw|throws|raise|new|await|yield|do|case|using|lock|delete|goto|assert"
_NO_STATEMENT = rf"!^[ \t]*({_STATEMENTS})([^A-Za-z0-9_]|$)"


class Family(NamedTuple):
    """Languages that write definitions alike: how their files end, how git calls them, and what a definition looks like."""

    suffixes: tuple[str, ...]
    drivers: tuple[str, ...]  # git's names, the first our own: a repository's attributes may ask for the others
    patterns: tuple[str, ...]  # as git takes them: the first that matches decides, and refuses when it begins with !


_FAMILIES = (
    Family(
        (".py", ".pyi", ".rb", ".rake", ".go", ".rs", ".kt", ".kts", ".scala", ".swift", ".php", ".lua", ".sh"),
        ("assay-words", "python", "ruby", "golang", "rust", "kotlin", "php", "scala", "swift", "lua", "bash"),
        (_KEYWORD_LINE, _ASSIGNMENT),
    ),
    Family(
        (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
        ("assay-braces", "javascript", "typescript"),
        (_KEYWORD_LINE, _ASSIGNMENT, _NO_STATEMENT, _BRACED),
    ),
    Family(
        (".java", ".cs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
        ("assay-types", "java", "csharp", "cpp", "objc"),
        (_KEYWORD_LINE, _NO_STATEMENT, _TYPED),
    ),
)
_BY_SUFFIX = {
    suffix: tuple((not pattern.startswith("!"), re.compile(pattern.lstrip("!"))) for pattern in family.patterns)
    for family in _FAMILIES
    for suffix in family.suffixes
}
_PREFACE = re.compile(r"\s*(?:$|@|#|//|/\*|\*|--|\[)")  # decorators and comments stand above what they belong to
_ASSIGNED = re.compile(rf"(?:[a-z()]+[ \t]+)*({_WORD})[ \t]*(?::[^=]*)?=[^=]")
_NAMED = re.compile(rf"(?:^|\s)(?:{_KEYWORDS})\*?\s+(?:\([^)]*\)\s*)?([\w$:.]+[?!]?)")
_CALLED = re.compile(r"([\w$~]+)\s*\(")
_LONGEST = 300  # characters looked at: a longer line is data


def attributes() -> str:
    """What tells git the family of a file."""
    return "".join(f"*{suffix} diff={family.drivers[0]}\n" for family in _FAMILIES for suffix in family.suffixes)


def settings() -> list[str]:
    """What tells git how definitions of each family look."""
    return [f"diff.{name}.xfuncname=" + "\n".join(family.patterns) for family in _FAMILIES for name in family.drivers]


def names(path: str, context: str, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The names that the removed or the added lines of a hunk touch, each with its place among them: the definition above
    that they reach into, and those they hold."""
    patterns = _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())
    if patterns is None:
        return
    defined = [(name, place) for place, line in enumerate(lines) if (name := _defines(line[:_LONGEST], patterns))]
    first = defined[0][1] if defined else len(lines)
    if context and _reaches(context, lines[:first], bool(defined)):
        yield _name(context), 0
    yield from defined


def _defines(line: str, patterns: Iterable[tuple[bool, re.Pattern[str]]]) -> str:
    """The name a line defines; empty when it defines none."""
    return _name(line) if next((accepts for accepts, pattern in patterns if pattern.match(line)), False) else ""


def _name(line: str) -> str:
    found = _ASSIGNED.match(line) or _NAMED.search(line) or _CALLED.search(line)
    return re.split(r"[.:]+", found.group(1).rstrip(".:"))[-1] if found else ""


def _reaches(context: str, lines: Sequence[str], definition_follows: bool) -> bool:
    """Whether lines are a part of the definition above: deeper than it, and no preface of the next one."""
    own = list(lines)
    while definition_follows and own and _PREFACE.match(own[-1]):
        own.pop()
    return any(_depth(line) > _depth(context) for line in own if line.strip())


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
