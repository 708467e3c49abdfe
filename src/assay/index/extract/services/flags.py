"""Feature flags that a file asks for by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assay.index.extract.services.calls import Call, Source
from assay.languages.conventions import ends_like
from assay.languages.frameworks import FlagLibrary

_FLAG = re.compile(r"[A-Za-z][\w.:/-]{1,99}")  # a name, not a sentence


class Flags:
    """Reads the flags of a file."""

    def __init__(self, source: Source, libraries: Iterable[FlagLibrary]) -> None:
        self.source, self.libraries = source, tuple(libraries)

    def asked(self, call: Call, chain: str) -> Iterator[str]:
        """Yield the flag that a call or decorator asks for."""
        name = chain.removesuffix("()")
        parent = name.rpartition(".")[0].lower()
        for library in self.libraries:
            if call.name in library.decorators:
                position = 0
            else:
                found = next((at for pattern, at in library.calls.items() if ends_like(name, (pattern,))), None)
                if found is None or (library.hints and not any(hint in (parent or call.name.lower()) for hint in library.hints)):
                    continue
                if not library.hints and library.name == "bare helpers" and parent:
                    continue
                position = found
            flag = self.source.plain(call.argument(position))
            if flag and _FLAG.fullmatch(flag):
                yield flag
                return

    def looked_up(self, chain: str, start: int, end: int) -> Iterator[str]:
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
