"""Passages: spans of documents that can be retrieved, read and cited by themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

_NOT_IN_SLUG = re.compile(r"[^\w]+")
_PASSAGE_ID = re.compile(r"#[^#]*:[0-9a-f]{8}(?:~\d+)?$")
_LONGEST_SLUG = 40  # characters of a heading in an id
_CELLS = frozenset({"notebook"})  # formats whose pages are cells


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the index holds it. Lines count from 1, characters of the document's text from 0."""

    number: int
    id: str
    path: str
    language: str  # the format of its document
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    page: int  # 0: its document has no pages
    text: str
    repository: str = ""  # its label, where several are asked as one

    @property
    def place(self) -> str:
        """Where to look: `docs/config.md:120-164`, or `manual.pdf, page 12`."""
        if self.page:
            return f"{self.path}, {'cell' if self.language in _CELLS else 'page'} {self.page}"
        return f"{self.path}:{self.first}-{self.last}"


def passage_id(path: str, headings: tuple[str, ...], text: str, chunker: str, nth: int = 1) -> str:
    """`docs/config.md#loading/from-a-file:3f2a91c4`: its place, and a hash of what it says and of the chunker. Other parts of the file do not matter.

    `nth` tells those apart that say the same under the same headings.
    """
    place = "/".join(_NOT_IN_SLUG.sub("-", heading.lower()).strip("-")[:_LONGEST_SLUG] for heading in headings)
    digest = blake2b(f"{chunker}\n{text}".encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{path}#{place}:{digest}" + (f"~{nth}" if nth > 1 else "")


def is_passage_id(id: str) -> bool:
    """Whether an id is one of a passage, not of an item."""
    return _PASSAGE_ID.search(id) is not None
