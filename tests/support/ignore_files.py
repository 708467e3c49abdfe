"""Random ignore files, and what git says about paths."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_PIECES = (
    "a", "b", "ab", "foo", "x.py", ".py", "é", "\xff", "-", "#", "!", " ", "\\ ", "\t", "\r", "*", "*", "**", "?", "/", "/", "/", "**/", "/**",
    "\\", "\\*", "\\/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[!]a]", "[a-]", "[]-a]", "[a-\\c]", "[z-a]", "[a/b]", "[\\]]", "[a", "]",
    "[[:alpha:]]", "[![:punct:]]", "[[:nothing:]]", "[[:]",
)  # fmt: skip
_NAMES = (
    "a",
    "b",
    "ab",
    "abc",
    "c",
    "foo",
    "foo.x.py",
    "x.py",
    ".py",
    "é",
    "-",
    "]",
    "!a",
    "#a",
    "a*",
    "a b",
    "foo ",
    "[a",
    "\\a",
    "z\t",
)


def ignore_file(choice: random.Random, lines: int = 6) -> bytes:
    """Return an ignore file of a few lines made of all that patterns may have."""
    text = []
    for _ in range(choice.randint(1, lines)):
        pattern = "".join(choice.choice(_PIECES) for _ in range(choice.randint(1, choice.choice((2, 4, 7)))))
        before, after = choice.choice(("", "", "", "!")), choice.choice(("", "", "", "", "/", "  "))
        text.append(f"{before}{pattern}{after}".encode(choice.choice(("utf-8", "utf-8", "latin-1"))))
    return choice.choice((b"", b"", b"", b"\xef\xbb\xbf")) + choice.choice((b"\n", b"\n", b"\r\n")).join(text)


def paths(choice: random.Random, count: int) -> list[str]:
    """Return paths that such patterns may match."""
    made = {"/".join(choice.choice(_NAMES) for _ in range(choice.randint(1, 5))) for _ in range(count)}
    return sorted(made)


def ignored_by_git(root: Path, files: Mapping[str, tuple[bytes, Sequence[str]]]) -> dict[str, set[str]]:
    """Return the paths that git ignores by ignore files, each in a folder of its own; the paths need not exist."""
    asked = []
    for folder, (text, names) in files.items():
        (root / folder).mkdir(parents=True)
        (root / folder / ".gitignore").write_bytes(text)
        asked += [os.fsencode(f"{folder}/{name}") for name in names]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]
    fields = subprocess.run(command, input=b"\0".join(asked) + b"\0", capture_output=True, check=False).stdout.split(
        b"\0"
    )
    ignored = {folder: set[str]() for folder in files}
    for source, pattern, path in zip(fields[::4], fields[2::4], fields[3::4], strict=False):
        folder, _, name = os.fsdecode(path).partition("/")
        if source and not pattern.startswith(b"!"):
            ignored[folder].add(name)
    return ignored
