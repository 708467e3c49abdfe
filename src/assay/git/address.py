"""Git addresses that a user types: https://, ssh://, git@HOST:PATH and file://, each with an optional #REVISION.

Everything else that git would accept (ext::, transport helpers, http, git://, options) is refused. A folder is not an
address: it is used where it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

from assay.errors import AssayError

_LONGEST = 2000  # characters
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=::|://)")
_SCP = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*@(?P<host>[A-Za-z0-9\[][A-Za-z0-9.:\]-]*):(?P<path>(?!//)\S+)")
_ALLOWED = ("https", "ssh", "file")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class BadAddress(AssayError):
    """A git address that is malformed or not allowed."""


@dataclass(frozen=True, slots=True)
class GitAddress:
    """A repository to clone, and the revision of it; empty: the default branch."""

    url: str
    revision: str = ""

    @property
    def name(self) -> str:
        """Name of the repository: the last part of its path."""
        last = re.split(r"[/:]", self.url.rstrip("/"))[-1].removesuffix(".git")
        return _UNSAFE.sub("-", last).strip(".-") or "repository"

    @property
    def folder(self) -> str:
        """Name of the folder of its clone: the same for all revisions, as they share their objects and their index."""
        return f"{self.name}-{sha256(self.url.encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        return f"{self.url}#{self.revision}" if self.revision else self.url


def is_address(text: str) -> bool:
    """Return whether a text is meant as an address, not as a folder."""
    return bool(_SCHEME.match(text) or _SCP.fullmatch(text.partition("#")[0]))


def parse_address(text: str) -> GitAddress:
    """Parse an address. Raises BadAddress for one that git must not be started with."""
    url, _, revision = text.partition("#")
    if len(text) > _LONGEST or not text.isprintable() or any(character.isspace() for character in text):
        raise BadAddress(f"{text[:80]!r}: no git address: it is too long, or has spaces or control characters")
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise BadAddress(f"{text}: '{revision}' is not a branch, a tag or a commit")
    if _SCP.fullmatch(url) and "://" not in url:
        return GitAddress(url, revision)
    try:
        place = urlsplit(url)
        host, password, _ = place.hostname or "", place.password, place.port
    except ValueError:
        raise BadAddress(f"{text}: no git address") from None
    if password is not None:
        raise BadAddress(
            f"{place.scheme}://…@{host}{place.path}: no passwords in addresses; use a git credential helper"
        )
    if place.scheme not in _ALLOWED or "::" in url.partition("/")[0]:
        raise BadAddress(f"{text}: clone by https://, ssh://, git@HOST:PATH or file://")
    if place.query or not place.path.strip("/") or host.startswith("-") or bool(host) == (place.scheme == "file"):
        example = "file:///srv/git/project.git" if place.scheme == "file" else f"{place.scheme}://HOST/PATH"
        raise BadAddress(f"{text}: no git address; write {example}")
    return GitAddress(url, revision)
