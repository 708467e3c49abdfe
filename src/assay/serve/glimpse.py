"""What is answered while there is no index: a first look at the files, in the form that contexts have, which says so."""

from __future__ import annotations

from assay.core.items import Item
from assay.core.packs import Heading, Ranked
from assay.live.first_look import Match
from assay.retrieve.context import Context
from assay.serve.bench import Bench


class _Lines:
    """The text of an item: the lines that matched, each with its number."""

    def __init__(self, matches: dict[str, Match]) -> None:
        self._matches = matches

    def note(self, item: Item) -> str:
        return ""

    def text(self, item: Item) -> str:
        return "\n".join(f"{number}: {line}" for number, line in self._matches[item.path].lines)


def glimpse(bench: Bench, task: str, k: int | None, budget: int | None) -> Context:
    """The files that have the words of a task, within the budget."""
    found = bench.first_look(task)
    settings = bench.configuration.context
    said = f"{bench.building}. Until then, {found}"
    items = [Ranked(_item(number, one, bench.several), one.score) for number, one in enumerate(found.matches)]
    source = _Lines({one.path: one for one in found.matches})
    heading = Heading(task, fresh=False, freshness=said)
    return Context.of(items[:k], settings.budget if budget is None else budget, source, heading, "json")


def _item(number: int, one: Match, labelled: bool) -> Item:
    """A file as an item, from its first line that matched to the last."""
    label = one.path.partition("/")[0] if labelled else ""
    lines = [line for line, _ in one.lines] or [1]
    name = one.path.rpartition("/")[2]
    return Item(number, one.path, "file", name, "", one.path, lines[0], lines[-1], "", "", False, repository=label)
