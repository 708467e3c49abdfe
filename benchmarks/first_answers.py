"""Rankings of the first generation of an index (edges by name, no history) beside those of the complete index.

    python benchmarks/first_answers.py --work WORK --first FIRST --split development
    python benchmarks/first_answers.py --work WORK --first FIRST --split test --look "why this look"

WORK has an indexed clone of every repository of a split (eval/tasks); missing ones are left out. FIRST gets the first
generation of each. Prints Markdown: a row per language and one of all, means over repositories, and the share of the
complete index's figure that the first generation reaches. The complete index is ranked by the model `tasks`, which has
read the labels of the splits train and development: compare left-out figures there (scripts/train_ranker.py --first).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from task_corpus import TASKS, Corpus, corpora
from tasks import MEASURES, log_look, scored

from assay.core.progress import NAMES
from assay.index.pipeline import index
from assay.store.layout import Home


def first_generation(corpus: Corpus, folder: Path) -> Corpus:
    """Return a corpus whose repository has the first generation of its index, built in a folder if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    home = Home.of(corpus.root, folder)
    if home.named() is None:
        index(corpus.root, home, wait=False)
    first = replace(corpus, index_dir=folder)
    assert first.repository.index.generation.stage == NAMES, f"{corpus.root} is too small for a first generation"
    return first


Rows = Mapping[
    str, tuple[Sequence[float], Sequence[float]]
]  # by repository: figures of the complete index, of the first


def table(rows: Rows, languages: Mapping[str, str]) -> list[str]:
    """Return the lines of a Markdown table: a row per language, means over repositories."""
    by_language: dict[str, list[str]] = defaultdict(list)
    for name in rows:
        by_language[languages[name]].append(name)
    lines = [f"| complete → first | {' | '.join(MEASURES)} |", "|---|" + "---|" * len(MEASURES)]
    for language, names in [*sorted(by_language.items()), ("**all**", list(rows))]:
        complete, first = (np.mean([rows[name][at] for name in names], axis=0) for at in (0, 1))
        cells = [
            f"{before:.3f} → {after:.3f} ({after / before:.2f})" for before, after in zip(complete, first, strict=True)
        ]
        lines.append(f"| {language} ({len(names)}) | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones")
    parser.add_argument("--first", type=Path, required=True, help="folder for their first generations")
    parser.add_argument("--split", choices=("train", "development", "test"), default="development")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--look", default="", help="reason of a look at the test split, for the log")
    parser.add_argument("--json", type=Path, help="write the figures of every repository here")
    given = parser.parse_args()
    if given.split == "test" and not given.look:
        parser.error("the test split needs --look REASON: every look is logged")
    listed = yaml.safe_load((TASKS / "corpora.yaml").read_text("utf-8"))["corpora"]
    languages = {row["name"]: row["language"] for row in listed}
    rows = {}
    for corpus in corpora(given.work, [given.split]):
        if (corpus.root / ".assay/current").exists():
            pair = (corpus, first_generation(corpus, given.first / corpus.name))
            figures = [scored(one, given.profile) for one in pair]
            complete, first = ([float(row[name].mean()) for name in MEASURES] for row in figures)
            rows[corpus.name] = (complete, first)
    lines = table(rows, languages)
    if given.look:
        log_look(given.look, lines)
    print("\n".join(lines))
    if given.json:
        given.json.write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
