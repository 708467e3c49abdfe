"""Context: a ranking packed into a token budget, readable item by item or rendered as a whole.

Packing shows first an outline of all items, then fuller renderings by value per token. Costs are counted on the
rendered text in its output format. Tokens of lines are additive (text/tokens.py), so the sum is exact and the budget is
never exceeded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.core.items import Item
from assay.core.packs import BODY, NAME, RENDERINGS, SIGNATURE, Heading, Pack, PackedItem, Ranked, Source
from assay.pack.render import FORMS, render
from assay.pack.render.form import Form
from assay.text.suggest import require_name
from assay.text.tokens import count


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


# Packing

# Share of an item's value that each rendering shows: a name tells where to look, the body everything. A judgement.
_SHOWN_VALUE = {NAME: 0.2, SIGNATURE: 0.5, BODY: 1.0}
_PROXIMITY_EXPONENT = 0.3  # from the seed's sweep over 300 tasks
_TOKENS_PER_LINE = 10  # 9.9 in the code excerpts of benchmarks/tokens.py; orders bodies before any is read
_LISTED_OMISSIONS = 3  # omitted items that are named
_OUTLINE_SHARE = 0.95  # of the room left by the frame, when not all names fit; the remainder lists omitted items
_HEADING_SHARE = 0.5  # a heading that takes more of the budget is shortened
_TASK_SHOWN = 200  # characters of the task in the heading


class _Rendered(NamedTuple):
    packed: PackedItem
    cost: int


def pack(
    ranked: Sequence[Ranked],
    budget: int,
    source: Source,
    heading: Heading = Heading(),  # noqa: B008 (frozen)
    format: str = "text",
) -> Pack:
    """Pack a ranking: each item as name, signature or body, in rank order, in at most `budget` tokens when rendered."""
    form = FORMS[format]
    packed = _pack_once(ranked, budget, source, heading, form)
    while 0 < form.most_characters < (length := len(render(packed))):
        smaller = packed.tokens * form.most_characters // length - 1
        packed = replace(_pack_once(ranked, smaller, source, heading, form), budget=budget)
    return packed


def _pack_once(ranked: Sequence[Ranked], budget: int, source: Source, heading: Heading, form: Form) -> Pack:
    frame = _fit_heading(Pack(budget, form.name, heading, left_out=len(ranked), tokens=budget), form)
    if count(form.framed(frame)) > budget:
        return replace(frame, tokens=0, framed=False)
    values = [max(entry.score, 0.0) * max(entry.proximity, 0.0) ** _PROXIMITY_EXPONENT for entry in ranked]
    names = [_measure(_name_of(entry, source), form) for entry in ranked]
    frame, rendered = _outline(frame, form, names, values)
    limits = [RENDERINGS.index(entry.most) for entry in ranked]
    _Upgrades(form, source, rendered, limits, budget - count(form.framed(frame))).fill(values)
    items = tuple(rendered[rank].packed for rank in sorted(rendered))
    return _count_tokens(replace(frame, items=items), form, rendered)


def _name_of(entry: Ranked, source: Source) -> PackedItem:
    note = source.note(entry.item) if entry.most == BODY else ""  # explains missing lines where a body is possible
    return PackedItem(entry.item, entry.score, note=note, why=entry.why, section=entry.section, link=entry.link)


def _measure(packed: PackedItem, form: Form) -> _Rendered:
    return _Rendered(packed, count(form.piece(packed)))


def _fit_heading(pack: Pack, form: Form) -> Pack:
    """Return the pack with the fullest heading that leaves room for items; the shortest when none does."""
    heading = pack.heading
    task = heading.task if len(heading.task) <= _TASK_SHOWN else heading.task[:_TASK_SHOWN] + "…"
    full = replace(heading, task=task)
    if pack.left_out and heading.sure:
        full = replace(full, searched="", unseen=(), nearest=())
    shorter = [replace(full, task=""), replace(full, task="", nearest=full.nearest[:1])]
    headings = [full, *shorter, replace(full, task="", unseen=(), nearest=())]
    shortest = Heading(fresh=heading.fresh)
    headings += [
        replace(headings[-1], sections=()),
        replace(shortest, confidence=heading.confidence, sure=heading.sure),
        shortest,
    ]
    room = pack.budget * _HEADING_SHARE if pack.left_out else pack.budget
    frames = [replace(pack, heading=candidate) for candidate in headings]
    return next((frame for frame in frames if count(form.framed(frame)) <= room), frames[-1])


def _outline(frame: Pack, form: Form, names: list[_Rendered], values: list[float]) -> tuple[Pack, dict[int, _Rendered]]:
    """Return the frame with the names of all items, or of those with most value per token and a note on the others."""
    complete = replace(frame, left_out=0)
    if sum(name.cost for name in names) + count(form.framed(complete)) <= frame.budget:
        return complete, dict(enumerate(names))
    room = frame.budget - count(form.framed(frame))
    remaining = int(room * _OUTLINE_SHARE)
    rendered: dict[int, _Rendered] = {}
    for rank in sorted(range(len(names)), key=lambda rank: (-values[rank] / names[rank].cost, rank)):
        if names[rank].cost <= remaining:
            rendered[rank] = names[rank]
            remaining -= names[rank].cost
    frame = replace(frame, left_out=len(names) - len(rendered))
    spent = sum(name.cost for name in rendered.values())
    for rank in [rank for rank in range(len(names)) if rank not in rendered][:_LISTED_OMISSIONS]:
        item = names[rank].packed.item
        longer = replace(frame, best_left_out=(*frame.best_left_out, item.symbol or item.path))
        if count(form.framed(longer)) + spent <= frame.budget:
            frame = longer
    return frame, rendered


class _Upgrades:
    """Greedy upgrades of an outline, best value per token first, while they fit."""

    def __init__(
        self, form: Form, source: Source, rendered: dict[int, _Rendered], limits: list[int], room: int
    ) -> None:
        self.form, self.source, self.rendered, self.names, self.limits = form, source, rendered, dict(rendered), limits
        self.remaining = room - sum(item.cost for item in rendered.values())
        self.in_file: dict[str, list[int]] = defaultdict(list)
        for rank, item in rendered.items():
            if limits[rank] > 0:
                self.in_file[item.packed.item.path].append(rank)

    def fill(self, values: list[float]) -> None:
        offers = [offer for rank in self.rendered for offer in self._offers(rank, values[rank])]
        for _density, rank, level in sorted(offers):
            current = self.rendered[rank].packed
            if current.within or RENDERINGS.index(current.rendering) >= level:
                continue
            if RENDERINGS[level] == SIGNATURE:
                self._apply({rank: self._rendered(rank, SIGNATURE, _summary(current.item))})
            elif _lines(current.item) <= self.remaining + self.rendered[rank].cost:  # a line costs a token at least
                self._apply(self._with_body(rank))

    def _offers(self, rank: int, value: float) -> Iterator[tuple[float, int, int]]:
        """Yield (negative value per token, rank, level) of the possible renderings of an item."""
        packed = self.rendered[rank].packed
        summary = _summary(packed.item)
        costs = {SIGNATURE: count(summary), BODY: 0 if packed.note else _lines(packed.item) * _TOKENS_PER_LINE}
        for rendering, cost in costs.items():
            if cost > 0 and RENDERINGS.index(rendering) <= self.limits[rank]:
                gain = value * (_SHOWN_VALUE[rendering] - _SHOWN_VALUE[NAME])
                yield -gain / cost, rank, RENDERINGS.index(rendering)

    def _rendered(self, rank: int, rendering: str, text: str) -> _Rendered:
        packed = replace(self.rendered[rank].packed, rendering=rendering, text=text, tokens=0)
        cost = count(self.form.piece(packed))
        tokens = cost - self.names[rank].cost
        # digits beyond the 0 just counted; each digit is a token
        digits = len(str(tokens)) - 1 if self.form.writes_tokens else 0
        return _Rendered(replace(packed, tokens=tokens), cost + digits)

    def _with_body(self, rank: int) -> dict[int, _Rendered]:
        """Return the item with its body, and the items inside it as references to it."""
        packed = self.rendered[rank].packed
        text = self.source.text(packed.item)
        if not text:
            return {}
        changes = {rank: self._rendered(rank, BODY, text)}
        for other in self.in_file[packed.item.path]:
            inner = self.rendered[other].packed
            if other != rank and _inside(inner.item, packed.item):
                changes[other] = _measure(replace(self.names[other].packed, within=packed.item.id), self.form)
        return changes

    def _apply(self, changes: dict[int, _Rendered]) -> None:
        cost = sum(new.cost - self.rendered[rank].cost for rank, new in changes.items())
        if cost <= self.remaining:
            self.remaining -= cost
            self.rendered.update(changes)


def _lines(item: Item) -> int:
    return item.end - item.start + 1


def _inside(inner: Item, outer: Item) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _summary(item: Item) -> str:
    """Return the signature and the first paragraph of the documentation."""
    return "\n".join(part for part in (item.signature, item.doc.strip().partition("\n\n")[0]) if part)


def _count_tokens(pack: Pack, form: Form, rendered: dict[int, _Rendered]) -> Pack:
    """Return the pack with its exact token count. The count is part of the text; it only grows, so the loop ends."""
    pieces = sum(item.cost for item in rendered.values())
    if pack.items:  # the last item has no separator
        pieces += count(form.piece(pack.items[-1], last=True)) - rendered[max(rendered)].cost
    pack = replace(pack, tokens=0)
    while (tokens := pieces + count(form.framed(pack))) != pack.tokens:
        pack = replace(pack, tokens=tokens)
    return pack
