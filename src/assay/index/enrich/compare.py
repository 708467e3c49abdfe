"""Compare what a tool says about calls with what our resolver says: a test of the resolver."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.core.progress import Progress
from assay.index.enrich.answers import OUTSIDE, Targets
from assay.index.enrich.merge import ItemLookup
from assay.index.enrich.places import Tree
from assay.index.facts import CALL, NEW, Reference
from assay.index.file import Sym
from assay.index.resolve import Resolver
from assay.index.resolve.guesses import Outcome
from assay.index.table import full_table
from assay.store.enrichment import Disagreement, FileComparison

# verdicts that are only counted, and where; the others are disagreements
_COUNTED = {"agreed": "agreed", "gained": "gained", "external": "external", "value": "values"}


def compare(
    tree: Tree,
    answers: Mapping[str, Targets],
    configs: dict[str, str],
    empty: Callable[[str], FileComparison],
    progress: Progress,
) -> dict[str, FileComparison]:
    """Return the comparison of every file with answers; `empty` makes that of a path, without any counts."""
    resolver = Resolver(full_table(tree.files, configs))
    items = ItemLookup(tree)
    progress.start("comparing", len(answers))
    out = {}
    for path, targets in sorted(answers.items()):
        out[path] = _compare_file(tree, path, dict(targets), resolver, items, empty(path))
        progress.advance()
    return out


def _compare_file(
    tree: Tree,
    path: str,
    targets: dict[int, list[str]],
    resolver: Resolver,
    items: ItemLookup,
    comparison: FileComparison,
) -> FileComparison:
    references = tree.references[path]
    for number, outcome in resolver.call_outcomes(path):
        ids = targets.get(number)
        if ids is None or number >= len(references) or references[number].role not in (CALL, NEW):
            continue
        tool_items = items.find(ids, called=True)
        is_outside = ids == [OUTSIDE]
        if not tool_items and not is_outside:
            continue  # a local, or something that is not an item
        comparison.answered += 1
        comparison.everyday += outcome.everyday
        kind = _verdict(outcome, tool_items, tree.files[path].language.prototypes)
        if kind in _COUNTED:
            setattr(comparison, _COUNTED[kind], getattr(comparison, _COUNTED[kind]) + 1)
        else:
            source = tree.files[path].sym(references[number].source).id
            comparison.disagreements.append(_disagreement(path, source, references[number], kind, outcome, tool_items))
    return comparison


def _verdict(outcome: Outcome, tool_items: list[Sym], prototypes: bool) -> str:
    if outcome.items:
        if not tool_items:
            return "outside"
        own_keys = {_key(sym, prototypes) for sym, _, _ in outcome.items}
        return "agreed" if own_keys & {_key(sym, prototypes) for sym in tool_items} else "target"
    if outcome.external:
        return "missed" if tool_items else "agreed"
    if outcome.unresolved:
        return "gained" if tool_items else "external"
    return "value" if tool_items else "agreed"  # we made no claim


def _key(sym: Sym, prototypes: bool) -> tuple[str, str]:
    """Return what identifies a definition: overloads count as one, and so do a type and its constructor.

    Tools differ in which of the two a call of a type leads to. With `prototypes`, a declaration in a header and the
    definition elsewhere are the same function.
    """
    return "" if prototypes else sym.path, sym.symbol.rpartition(".")[0] if sym.kind == "constructor" else sym.symbol


def _disagreement(
    path: str, source: str, reference: Reference, kind: str, outcome: Outcome, tool_items: list[Sym]
) -> Disagreement:
    own = [sym.id for sym, _, _ in outcome.items] or [OUTSIDE + outcome.external]
    provenance = outcome.items[0][2] if outcome.items else ""
    targets = [sym.id for sym in tool_items] or [OUTSIDE]
    return Disagreement(path, reference.line, source, reference.chain, kind, own, provenance, targets)
