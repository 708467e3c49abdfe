"""The answer to a task, to be read item by item or rendered as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.packs import Heading, Pack, PackedItem, Ranked, Source
from assay.pack.packing import pack
from assay.pack.render import FORMS, render
from assay.rank.profile import known


@dataclass(frozen=True, slots=True, repr=False)
class Context:
    """A ranking cut to a budget of tokens in one format. It needs no open index."""

    ranked: Sequence[Ranked]
    source: Source
    heading: Heading
    pack: Pack

    @classmethod
    def of(cls, ranked: Sequence[Ranked], budget: int, source: Source, heading: Heading, format: str) -> Context:
        made = pack(ranked, budget, source, heading, known("format", format, FORMS))
        return cls(ranked, source, heading, made)

    @property
    def items(self) -> tuple[PackedItem, ...]:
        """In rank order, each with as much of its text as it was worth."""
        return self.pack.items

    @property
    def tokens(self) -> int:
        """Of the answer as it is rendered, exactly."""
        return self.pack.tokens

    @property
    def budget(self) -> int:
        return self.pack.budget

    @property
    def left_out(self) -> int:
        """How many items the budget had no room for."""
        return self.pack.left_out

    @property
    def fresh(self) -> bool:
        """Whether nothing changed since the index was made."""
        return self.heading.fresh

    @property
    def freshness(self) -> str:
        """The same for people, with the first files that changed."""
        return self.heading.freshness

    @property
    def confidence(self) -> float | None:
        """The chance that one of the first five is right, for a task; None where it is not known."""
        return self.heading.confidence

    @property
    def sure(self) -> bool:
        """Whether that is as much as the threshold asks; if not, it is probably not here, or in other words."""
        return self.heading.sure

    @property
    def nearest(self) -> tuple[str, ...]:
        """When it is not sure: names like words of the task that nothing here has."""
        return self.heading.nearest

    def render(self, format: str = "") -> str:
        """The whole answer. For another format than it was made for it is packed anew, so the budget holds in every one."""
        if format in ("", self.pack.format):
            return render(self.pack)
        return Context.of(self.ranked, self.budget, self.source, self.heading, format).render()

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Context: {len(self.items)} items, {self.tokens:,} of {self.budget:,} tokens>"
