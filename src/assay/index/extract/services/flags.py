"""Feature flags that a file asks for by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from assay.index.extract.services.calls import Call, Source
from assay.languages.conventions import ends_like
from assay.languages.frameworks import FlagLibrary

_FLAG = re.compile(r"[A-Za-z][\w.:/-]{1,99}")  # a name, not a sentence


@lru_cache(maxsize=64)
def _by_last_name(libraries: tuple[FlagLibrary, ...]) -> dict[str, list[tuple[FlagLibrary, str, int]]]:
    """Return the calls and decorators of libraries by their last name, which most calls of a file do not have."""
    out: dict[str, list[tuple[FlagLibrary, str, int]]] = {}
    for library in libraries:
        for pattern, position in (*library.calls.items(), *((name, 0) for name in sorted(library.decorators))):
            out.setdefault(pattern.rpartition(".")[2], []).append((library, pattern, position))
    return out


class Flags:
    """Reads the flags of a file."""

    def __init__(self, source: Source, libraries: tuple[FlagLibrary, ...]) -> None:
        self.source, self.libraries = source, libraries
        self._by_name = _by_last_name(libraries)

    def of_call(self, call: Call, chain: str) -> Iterator[str]:
        """Yield the flag that a call or decorator asks for."""
        rows = self._by_name.get(call.name)
        if not rows:
            return
        name = chain.removesuffix("()")
        parent = name.rpartition(".")[0].lower()
        for library, pattern, position in rows:
            if not ends_like(name, (pattern,)) or (library.bare and parent):
                continue
            if library.hints and not any(hint in (parent or call.name.lower()) for hint in library.hints):
                continue
            flag = self.source.plain(call.argument(position))
            if flag and _FLAG.fullmatch(flag):
                yield flag
                return

    def of_setting(self, chain: str, start: int, end: int) -> Iterator[str]:
        """Yield the flag of a setting: `settings.FEATURE_CHECKOUT`, `FEATURES["checkout"]`."""
        text = self.source.bytes[start : min(end, start + 200) + 100].decode("utf-8", "replace")
        for library in self.libraries:
            for prefix in library.constants:
                at = chain.find(prefix)
                if at >= 0 and (at == 0 or chain[at - 1] == "."):
                    yield re.split(r"\W", chain[at + prefix.rindex(".") + 1 :])[0]
                    return
            for name in library.lookups:
                match = re.search(rf"\b{name}\[\s*(?::|[\"'])([\w.:-]{{1,100}})[\"']?\s*\]", text)
                if match:
                    yield match.group(1)
                    return
