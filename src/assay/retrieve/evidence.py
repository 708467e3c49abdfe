"""What an index says about a task before anything is weighed: made once, however many profiles weigh it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.retrieve.fusion import Channel
from assay.retrieve.lexical import Lexical
from assay.retrieve.profile import Profile
from assay.retrieve.reading import Reading

T = TypeVar("T")

# what evidence depends on of a profile; profiles that agree in all of it may share the evidence
READING = ("field_weights", "field_lengths", "saturation", "repeats", "later", "thesaurus", "channels", "edge_weights")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A task read, its words found, its channels listed. What only some profiles ask for is made when the first of them does."""

    reading: Reading
    lexical: Lexical
    channels: Mapping[str, Channel]
    _known: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What goes by that name, made if nobody has asked for it before."""
        if name not in self._known:
            self._known[name] = make()
        known: T = self._known[name]
        return known


def read_alike(first: Profile, second: Profile) -> bool:
    """Whether two profiles may share the evidence of a task."""
    return all(getattr(first, name) == getattr(second, name) for name in READING)
