"""Context: the answer to a query, readable item by item or rendered as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.packs import Heading, Pack, PackedItem, Ranked, Source
from assay.pack.packing import pack
from assay.pack.render import FORMS, render
from assay.text.suggest import require_name


@dataclass(frozen=True, slots=True, repr=False)
class Context:
    """A ranking packed into a token budget in one format. It needs no open index."""

    ranked: Sequence[Ranked]
    source: Source
    heading: Heading
    pack: Pack

    @classmethod
    def of(cls, ranked: Sequence[Ranked], budget: int, source: Source, heading: Heading, format: str) -> Context:
        """Pack a ranking; raise AssayError for an unknown format."""
        packed = pack(ranked, budget, source, heading, require_name("format", format, FORMS))
        return cls(ranked, source, heading, packed)

    @property
    def items(self) -> tuple[PackedItem, ...]:
        """Packed items in rank order."""
        return self.pack.items

    @property
    def tokens(self) -> int:
        """Exact tokens of the rendered answer."""
        return self.pack.tokens

    @property
    def budget(self) -> int:
        return self.pack.budget

    @property
    def left_out(self) -> int:
        """Number of items that did not fit the budget."""
        return self.pack.left_out

    @property
    def fresh(self) -> bool:
        """True if no file changed since the index was built."""
        return self.heading.fresh

    @property
    def freshness(self) -> str:
        """Freshness as text, with the first files that changed."""
        return self.heading.freshness

    @property
    def confidence(self) -> float | None:
        """Probability that one of the first five is right; None where it is unknown."""
        return self.heading.confidence

    @property
    def sure(self) -> bool:
        """True if the confidence reaches the threshold; otherwise the answer is probably not in this repository."""
        return self.heading.sure

    @property
    def nearest(self) -> tuple[str, ...]:
        """Spelling suggestions for unmatched words of an unsure answer."""
        return self.heading.nearest

    def render(self, format: str = "") -> str:
        """Render the answer. Another format than the packed one is packed anew, so the budget always holds."""
        if format in ("", self.pack.format):
            return render(self.pack)
        return Context.of(self.ranked, self.budget, self.source, self.heading, format).render()

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Context: {len(self.items)} items, {self.tokens:,} of {self.budget:,} tokens>"
