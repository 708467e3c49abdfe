"""Cutting a ranking to a budget of tokens: an outline of everything first, then fuller renderings where a token buys most.

The cost of a piece is counted on the text that will be written, in the format it will be written in. Tokens of lines add up
(text/tokens.py), so the sum is exact and the budget is never exceeded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from assay.core.items import Item
from assay.core.packs import BODY, NAME, RENDERINGS, SIGNATURE, Heading, Pack, PackedItem, Ranked, Source
from assay.pack.render import FORMS, render
from assay.pack.render.form import Form
from assay.text.tokens import count

# What share of an item's worth each rendering shows: a name tells where to look, the body all there is. A judgement, not measured.
_SHOWN = {NAME: 0.2, SIGNATURE: 0.5, BODY: 1.0}
_LEAST_EXPONENT, _MOST_EXPONENT, _EXPONENT_SLOPE = 0.3, 0.7, 0.2  # the seed's sweep over 300 tasks
_TOKENS_PER_LINE = 10  # 9.9 in the code excerpts of benchmarks/tokens.py; orders bodies before any is read
_BEST_NAMED = 3  # of what is left out
_OUTLINE_SHARE = 0.95  # of what the frame leaves, when not all names fit: the rest says what is missing
_HEADING_SHARE = 0.5  # a heading that takes more is shortened
_TASK_SHOWN = 200  # characters of the task that are repeated


class _Shown(NamedTuple):
    packed: PackedItem
    cost: int


def proximity_exponent(phantom_ratio: float) -> float:
    """How much nearness counts: more where many candidates stand outside the repository."""
    return min(max(_LEAST_EXPONENT + _EXPONENT_SLOPE * phantom_ratio, _LEAST_EXPONENT), _MOST_EXPONENT)


def pack(
    ranked: Sequence[Ranked],
    budget: int,
    source: Source,
    heading: Heading = Heading(),  # noqa: B008 (frozen)
    format: str = "text",
    phantom_ratio: float = 0.0,
) -> Pack:
    """The ranking in rank order, each item as a name, its signature or its lines, in at most `budget` tokens when rendered."""
    form = FORMS[format]
    made = _packed(ranked, budget, source, heading, form, phantom_ratio)
    while 0 < form.most_characters < (length := len(render(made))):
        fewer = made.tokens * form.most_characters // length - 1
        made = replace(_packed(ranked, fewer, source, heading, form, phantom_ratio), budget=budget)
    return made


def _packed(
    ranked: Sequence[Ranked], budget: int, source: Source, heading: Heading, form: Form, phantom_ratio: float
) -> Pack:
    frame = _frame(Pack(budget, form.name, heading, left_out=len(ranked), tokens=budget), form)
    if count(form.framed(frame)) > budget:
        return replace(frame, tokens=0, framed=False)
    exponent = proximity_exponent(phantom_ratio)
    worths = [max(one.score, 0.0) * max(one.proximity, 0.0) ** exponent for one in ranked]
    names = [_shown(_named(one, source), form) for one in ranked]
    frame, shown = _outlined(frame, form, names, worths)
    most = [RENDERINGS.index(one.most) for one in ranked]
    _Filling(form, source, shown, most, budget - count(form.framed(frame))).fill(worths)
    return _counted(replace(frame, items=tuple(shown[rank].packed for rank in sorted(shown))), form, shown)


def _named(one: Ranked, source: Source) -> PackedItem:
    note = source.note(one.item) if one.most == BODY else ""  # why lines are missing where they could be expected
    return PackedItem(one.item, one.score, note=note, why=one.why, section=one.section, link=one.link)


def _shown(packed: PackedItem, form: Form) -> _Shown:
    return _Shown(packed, count(form.piece(packed)))


def _frame(pack: Pack, form: Form) -> Pack:
    """The pack with the fullest heading that leaves room for items; the barest when none does."""
    heading = pack.heading
    task = heading.task if len(heading.task) <= _TASK_SHOWN else heading.task[:_TASK_SHOWN] + "…"
    full = replace(heading, task=task)
    if pack.left_out and heading.sure:
        full = replace(full, searched="", unseen=(), nearest=())
    shorter = [replace(full, task=""), replace(full, task="", nearest=full.nearest[:1])]
    headings = [full, *shorter, replace(full, task="", unseen=(), nearest=())]
    barest = Heading(fresh=heading.fresh)
    headings += [
        replace(headings[-1], sections=()),
        replace(barest, confidence=heading.confidence, sure=heading.sure),
        barest,
    ]
    room = pack.budget * _HEADING_SHARE if pack.left_out else pack.budget
    frames = [replace(pack, heading=one) for one in headings]
    return next((frame for frame in frames if count(form.framed(frame)) <= room), frames[-1])


def _outlined(frame: Pack, form: Form, names: list[_Shown], worths: list[float]) -> tuple[Pack, dict[int, _Shown]]:
    """The name of every item, or of those worth most per token; the frame says what is missing."""
    complete = replace(frame, left_out=0)
    if sum(name.cost for name in names) + count(form.framed(complete)) <= frame.budget:
        return complete, dict(enumerate(names))
    room = frame.budget - count(form.framed(frame))
    left = int(room * _OUTLINE_SHARE)
    shown: dict[int, _Shown] = {}
    for rank in sorted(range(len(names)), key=lambda rank: (-worths[rank] / names[rank].cost, rank)):
        if names[rank].cost <= left:
            shown[rank] = names[rank]
            left -= names[rank].cost
    frame = replace(frame, left_out=len(names) - len(shown))
    spent = sum(one.cost for one in shown.values())
    for rank in [rank for rank in range(len(names)) if rank not in shown][:_BEST_NAMED]:
        item = names[rank].packed.item
        named = replace(frame, best_left_out=(*frame.best_left_out, item.symbol or item.path))
        if count(form.framed(named)) + spent <= frame.budget:
            frame = named
    return frame, shown


class _Filling:
    """Upgrades of an outline, best value per token first, while they fit."""

    def __init__(self, form: Form, source: Source, shown: dict[int, _Shown], most: list[int], room: int) -> None:
        self.form, self.source, self.shown, self.names, self.most = form, source, shown, dict(shown), most
        self.left = room - sum(one.cost for one in shown.values())
        self.in_file: dict[str, list[int]] = defaultdict(list)
        for rank, one in shown.items():
            if most[rank] > 0:
                self.in_file[one.packed.item.path].append(rank)

    def fill(self, worths: list[float]) -> None:
        offers = [offer for rank in self.shown for offer in self._offers(rank, worths[rank])]
        for _density, rank, level in sorted(offers):
            current = self.shown[rank].packed
            if current.within or RENDERINGS.index(current.rendering) >= level:
                continue
            if RENDERINGS[level] == SIGNATURE:
                self._take({rank: self._rendered(rank, SIGNATURE, _summary(current.item))})
            elif _lines(current.item) <= self.left + self.shown[rank].cost:  # a line costs a token at least
                self._take(self._with_body(rank))

    def _offers(self, rank: int, worth: float) -> Iterator[tuple[float, int, int]]:
        """(negative value per token, rank, level) of the renderings an item could have."""
        packed = self.shown[rank].packed
        summary = _summary(packed.item)
        costs = {SIGNATURE: count(summary), BODY: 0 if packed.note else _lines(packed.item) * _TOKENS_PER_LINE}
        for rendering, cost in costs.items():
            if cost > 0 and RENDERINGS.index(rendering) <= self.most[rank]:
                gain = worth * (_SHOWN[rendering] - _SHOWN[NAME])
                yield -gain / cost, rank, RENDERINGS.index(rendering)

    def _rendered(self, rank: int, rendering: str, text: str) -> _Shown:
        packed = replace(self.shown[rank].packed, rendering=rendering, text=text, tokens=0)
        cost = count(self.form.piece(packed))
        tokens = cost - self.names[rank].cost
        digits = (
            len(str(tokens)) - 1 if self.form.writes_tokens else 0
        )  # beyond the 0 just counted; each digit is a token
        return _Shown(replace(packed, tokens=tokens), cost + digits)

    def _with_body(self, rank: int) -> dict[int, _Shown]:
        """The item with its lines, and the items inside it as references to them."""
        packed = self.shown[rank].packed
        text = self.source.text(packed.item)
        if not text:
            return {}
        changes = {rank: self._rendered(rank, BODY, text)}
        for other in self.in_file[packed.item.path]:
            inner = self.shown[other].packed
            if other != rank and _inside(inner.item, packed.item):
                changes[other] = _shown(replace(self.names[other].packed, within=packed.item.id), self.form)
        return changes

    def _take(self, changes: dict[int, _Shown]) -> None:
        cost = sum(new.cost - self.shown[rank].cost for rank, new in changes.items())
        if cost <= self.left:
            self.left -= cost
            self.shown.update(changes)


def _lines(item: Item) -> int:
    return item.end - item.start + 1


def _inside(inner: Item, outer: Item) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _summary(item: Item) -> str:
    """The signature and the first paragraph of the documentation."""
    return "\n".join(part for part in (item.signature, item.doc.strip().partition("\n\n")[0]) if part)


def _counted(pack: Pack, form: Form, shown: dict[int, _Shown]) -> Pack:
    """The pack with its exact tokens. The figure is part of what is counted; more digits only cost more, so this settles."""
    pieces = sum(one.cost for one in shown.values())
    if pack.items:  # the last one has no separator
        pieces += count(form.piece(pack.items[-1], last=True)) - shown[max(shown)].cost
    pack = replace(pack, tokens=0)
    while (tokens := pieces + count(form.framed(pack))) != pack.tokens:
        pack = replace(pack, tokens=tokens)
    return pack
