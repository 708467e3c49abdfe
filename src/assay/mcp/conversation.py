"""What was said in a conversation already: bodies that were sent are referred to, not sent again."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.core.packs import BODY, NAME, SIGNATURE, PackedItem, Ranked, Source
from assay.store.files import content_hash

SENT = "sent before"
_MOST = 1_000  # conversations remembered at once


class Conversation:
    """One connection of an agent. `name` is that of its session in what is learned."""

    def __init__(self) -> None:
        self.name = f"mcp-{secrets.token_hex(8)}"
        self._sent: dict[str, bytes] = {}  # id → hash of the text that was sent
        self._guard = threading.Lock()

    def adapted(self, ranked: Sequence[Ranked], source: Source, bodies: bool, repeat: bool) -> list[Ranked]:
        """A ranking as it is to be shown here: bodies only if they are wanted, and were not sent as they are now."""
        if not bodies:
            return [replace(one, most=SIGNATURE) if one.most == BODY else one for one in ranked]
        return list(ranked) if repeat else [self._adapted(one, source) for one in ranked]

    def remember(self, items: Iterable[PackedItem], source: Source) -> None:
        """What has been sent now."""
        for packed in items:
            if packed.rendering == BODY or packed.within:
                with self._guard:
                    self._sent[packed.id] = content_hash(source.text(packed.item).encode())

    def _adapted(self, one: Ranked, source: Source) -> Ranked:
        known = self._sent.get(one.item.id)
        if known is None or content_hash(source.text(one.item).encode()) != known:
            return one
        return replace(one, most=NAME, why="; ".join(filter(None, (one.why, SENT))))


class Conversations:
    """The conversations of a server by key; those silent for longest are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def of(self, key: str | None) -> Conversation:
        """The conversation of a key, a new one if it is new. Without a key nothing is remembered."""
        if key is None:
            return Conversation()
        if key not in self._known:
            self._known[key] = Conversation()
        self._known.move_to_end(key)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return self._known[key]
