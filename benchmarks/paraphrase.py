"""Stability under paraphrase: Jaccard index of the top ten symbols over pairs of paraphrased tasks.

    python benchmarks/paraphrase.py [--pairs eval/paraphrases.yaml] [--root DIR] [--profile NAME] [--json FILE]

The pairs are about this repository; its index is brought up to date first. 1 is the same ten symbols in any order, 0 none in common.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

import assay
from assay.api import Repository
from assay.errors import AssayError

HERE = Path(__file__).parent.parent
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to ask for the same, and in what they differ."""

    kind: str
    one: str
    other: str


def read(path: Path) -> list[Pair]:
    """The pairs of a file; what is not one is refused with its number."""
    rows = yaml.safe_load(path.read_text("utf-8"))
    if not isinstance(rows, list) or not rows:
        raise AssayError(f"{path}: a list of pairs is expected")
    pairs = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or row.keys() != {"kind", "one", "other"} or not all(map(_is_text, row.values())):
            raise AssayError(f"{path}: pair {number} must have the texts kind, one and other, and nothing else")
        pairs.append(Pair(**row))
    return pairs


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def jaccard(one: set[int], other: set[int]) -> float:
    """The share of all that both have; two that have nothing agree."""
    return len(one & other) / len(one | other) if one | other else 1.0


def alike(repo: Repository, pairs: Sequence[Pair], profile: str | None = None) -> list[float]:
    def first(task: str) -> set[int]:
        return {ranked.item.number for ranked in repo.rank(task, DEPTH, profile=profile)}

    return [jaccard(first(pair.one), first(pair.other)) for pair in pairs]


def table(pairs: Sequence[Pair], values: Sequence[float]) -> str:
    """Markdown: each kind and all together, with the pair that is least alike."""
    lines = ["| kind | pairs | mean | worst | least alike |", "|---|---|---|---|---|"]
    groups = {
        kind: [at for at, pair in enumerate(pairs) if pair.kind == kind]
        for kind in dict.fromkeys(p.kind for p in pairs)
    }
    for kind, places in [*groups.items(), ("**all**", list(range(len(pairs))))]:
        worst = min(places, key=lambda at: values[at])
        mean = statistics.mean(values[at] for at in places)
        lines.append(f"| {kind} | {len(places)} | {mean:.2f} | {values[worst]:.2f} | {pairs[worst].other} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, default=HERE / "eval" / "paraphrases.yaml")
    parser.add_argument("--root", type=Path, default=HERE)
    parser.add_argument("--index-dir", type=Path)
    parser.add_argument("--profile")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    chosen = parser.parse_args(arguments)
    pairs = read(chosen.pairs)
    with assay.open(chosen.root, index=True, index_dir=chosen.index_dir) as repo:
        values = alike(repo, pairs, chosen.profile)
    print(table(pairs, values))
    if chosen.json:
        rows = [
            {"kind": p.kind, "one": p.one, "other": p.other, "jaccard": v} for p, v in zip(pairs, values, strict=True)
        ]
        chosen.json.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
