"""Ablation of the engine: each mechanism removed from the hand-tuned profile, or added to plain BM25F.

    python benchmarks/ablation.py --tasks TASKS --corpus DIR [--write docs/retrieval.md]

TASKS is a golden set with repositories (../shared/bench/tasks), DIR holds an indexed clone of each. With --write the tables replace what stands
between the marks of a document.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.core.golden import GoldenQuery, Hit, Response
from assay.evaluate.golden import load
from assay.evaluate.judging import judge
from assay.evaluate.matching import MATCHERS
from assay.evaluate.metrics import parse
from assay.rank.engine import Engine, open_engine
from assay.rank.profile import PROFILES, Profile
from assay.store.index import Index
from assay.store.layout import Home

K = 10
MEASURES = (("P@10", "dotted"), ("R@10", "strict"), ("RR@10", "dotted"), ("nDCG@10", "strict"))
MARKS = re.compile(r"(<!-- ablation -->\n).*?(<!-- /ablation -->)", re.DOTALL)

# the settings that switch a mechanism off, by the name a reader knows it by
MECHANISMS: dict[str, dict[str, Any]] = {
    "clauses of the task": {"clause_decay": 1.0},
    "coverage of the task's words": {"coverage": 0.0},
    "share of the name": {"name_precision": 0.0},
    "authority": {"authority": 0.0},
    "history": {"history": 0.0, "touched": 0.0},
    "documents": {"documents": 0.0},
    "channels, fused": {"fusion": 0.0},
    "classes and aliases": {"channels": {"names": 1.0}},
    "kinds": {"kind_weights": {}},
    "tests lowered": {"test_weight": 1.0},
    "containers ↔ members": {"container_share": 0.0, "member_share": 0.0},
    "walk": {"walk": 0.0, "hits": 0.0},
    "HITS": {"hits": 0.0},
    "folder": {"folder": 0.0},
    "one of each name": {"overload": 1.0, "namesake": 1.0},
    "order of the first ten": {"reorder": 0.0},
    "places and literal names": {"direct_hits": 0.0, "place": 0.0},
}
# what the default leaves out
EXTRAS: dict[str, dict[str, Any]] = {
    "touched symbols (0.3)": {"touched": 0.3},
}


class Tasks:
    """The queries of a golden set whose repositories are indexed below a folder."""

    def __init__(self, tasks: Path, corpus: Path) -> None:
        golden = load(tasks)
        names = sorted({query.repository for query in golden.queries})
        self._indexes = {name: Index.open(corpus / name, Home.of(corpus / name)) for name in names}
        self._queries = [query for name in names for query in golden.queries if query.repository == name]

    def measured(self, profile: Profile) -> list[float]:
        """The mean of every measure under a profile."""
        responses = list(self._responses(profile))
        judged = {m: judge(self._queries, responses, MATCHERS[m], "symbol") for m in {m for _, m in MEASURES}}
        return [float(parse(measure).values(judged[matcher]).mean()) for measure, matcher in MEASURES]

    def _responses(self, profile: Profile) -> Iterator[Response]:
        engines = {name: open_engine(index, profile) for name, index in self._indexes.items()}
        for query in self._queries:
            yield Response(hits=tuple(self._hits(engines[query.repository], query)))

    def _hits(self, engine: Engine, query: GoldenQuery) -> Iterator[Hit]:
        for ranked in engine.ranked(query.text, K):
            yield Hit(ranked.item.id, ranked.item.symbol, ranked.item.path)


def variations() -> Iterator[tuple[str, str, Profile]]:
    """Table, row and profile of everything that is measured."""
    whole, bare = PROFILES["hand-tuned"], PROFILES["lexical"]
    for name, profile in PROFILES.items():
        if not profile.ranker or profile.ranker_model == "commits":  # the other model was trained on these tasks
            yield "profiles", f"`{name}`", profile
    for name, off in MECHANISMS.items():
        yield "off", name, dataclasses.replace(whole, **off)
    for name, off in MECHANISMS.items():
        alone = dataclasses.replace(bare, **{setting: getattr(whole, setting) for setting in off})
        if name == "channels, fused":
            alone = dataclasses.replace(alone, channels=whole.channels)
        if alone != bare and (alone.fusion or "channels" not in off):
            yield "alone", name, alone
    for name, on in EXTRAS.items():
        yield "switched on", name, dataclasses.replace(whole, **on)


def tables(tasks: Tasks) -> str:
    """Every variation, measured, as Markdown."""
    rows: dict[str, list[str]] = {}
    for table, name, profile in variations():
        figures = tasks.measured(profile)
        rows.setdefault(table, []).append(f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")
        print(table, name, *(f"{figure:.4f}" for figure in figures), file=sys.stderr, flush=True)
    heads = " | ".join(f"{measure} {'generous' if matcher == 'dotted' else matcher}" for measure, matcher in MEASURES)
    return "\n".join(
        f"| {table} | {heads} |\n|---|{'---|' * len(MEASURES)}\n" + "\n".join(lines) + "\n"
        for table, lines in rows.items()
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args(arguments)
    text = tables(Tasks(asked.tasks, asked.corpus))
    print(text)
    if asked.write:
        document = asked.write.read_text("utf-8")
        asked.write.write_text(MARKS.sub(lambda match: match[1] + text + match[2], document), "utf-8")


if __name__ == "__main__":
    main()
