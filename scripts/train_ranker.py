"""Train the default ranker on the task corpus and write src/assay/rank/ranker_tasks.json.

    python scripts/train_ranker.py --work WORK --bench-tasks TASKS --bench-clones DIR             evaluate, train, write
    python scripts/train_ranker.py … --only-evaluate [--curve] [--ablation] [--quick]             write nothing
    python scripts/train_ranker.py … --first FIRST      the same for first generations, built in FIRST: ranker_names.json

WORK has an indexed clone of every repository of the splits train and development (eval/tasks/corpora.yaml), DIR one of every
repository of ../shared/bench. The test split is never read. Figures are of repositories left out of training (eight folds by
repository); the model that is written is trained on all of them. Needs `pip install lightgbm` (EXPERIMENTS.md has the version).

LightGBM's lambdarank with small trees. A candidate's gain is that of the best label it matches; a neighbour of a label (its
class, or a member of it) gains a little, as half of an answer is to be in the right place.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]

from confidence_cases import cases  # noqa: E402
from first_answers import first_generation  # noqa: E402
from task_corpus import Corpus, Judged, bench_corpora, corpora  # noqa: E402

from assay.config.cluster import choose_cluster  # noqa: E402
from assay.rank.arrays import Floats  # noqa: E402
from assay.rank.engine import Engine  # noqa: E402
from assay.rank.features import FEATURES, matrix  # noqa: E402
from assay.rank.profile import PROFILES, with_settings  # noqa: E402
from assay.rank.ranker import FORMAT, MODELS, TreeModel  # noqa: E402
from assay.system.cluster import ClusterSettings  # noqa: E402
from assay.system.executor import UnitFailed, open_executor, require_folder  # noqa: E402

MODEL_FOLDER = ROOT / "src/assay/rank"
FOLDS = 8
ROUNDS = 100  # of each seed
SEEDS: tuple[int, ...] = (
    1,
    2,
    3,
    4,
)  # the model is the mean of one model per seed: what each learned by chance averages out
GAINS = (0.0, 0.3, 1.0, 2.0, 3.0)  # of nothing, a neighbour, and labels of grade 1, 2, 3
SETTINGS: dict[str, Any] = {
    "objective": "lambdarank", "label_gain": list(GAINS), "lambdarank_truncation_level": 20,
    "num_leaves": 7, "learning_rate": 0.1, "lambda_l2": 5.0, "min_data_in_leaf": 50,
    "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1,
    "deterministic": True, "force_row_wise": True, "num_threads": 2, "verbose": -1,
}  # fmt: skip
DIGITS = 6  # significant digits of what is written

# by group, for the ablation. Others were tried and left out: trees rarely split on them, and left-out figures are the same
GROUPS: Mapping[str, tuple[str, ...]] = {
    "hand-tuned score": ("score", "direct"),
    "terms": ("lexical place", "found", "in path", "in signature", "in identifiers", "in literals"),
    "names": ("name precision", "name length", "name phrase", "name position", "whole name", "file name", "own file"),
    "meaning": (
        "meaning", "meaning, relative", "meaning place", "file meaning", "container meaning",
        "similar name", "similar name, relative", "similar task",
    ),
    "central types": ("container central", "file central", "works on central"),
    "graph": ("walk", "walk place", "calls results", "linked", "tested", "used", "authority", "uses"),
    "container": ("container terms", "container lexical", "family terms", "best member", "siblings"),
    "file and folder": (
        "file best", "file mass", "file count", "file terms", "file lexical", "folder lexical", "place in file", "place in folder",
    ),
    "history": ("history", "touched", "changes"),
    "itself": ("test", "space", "constructor", "support", "language", "lines", "body"),
    "task and repository": ("repository size", "task length"),
}  # fmt: skip
NAMES = tuple(name for names in GROUPS.values() for name in names)
FIRST_NAMES = tuple(name for name in NAMES if name not in GROUPS["history"])  # of first generations, which have none


@dataclass(frozen=True, slots=True)
class Task:
    """The candidates of a task: features, judgements, and what lowers repeated names."""

    values: NDArray[np.float32]
    judged: Judged
    names: tuple[tuple[str, str], ...]  # path and qualified name


def described(corpus: Corpus) -> list[Task]:
    """Return the candidates of a repository's tasks, as the ranker meets them."""
    require_folder(corpus.root)
    profile = with_settings(
        PROFILES["default"], "candidates", {"ranker": 0.0, "overload": 1, "namesake": 1, "reorder": 0.0}, "train"
    )
    engine = Engine(corpus.repository.index, profile)
    tasks = []
    for task in corpus.tasks:
        candidates = engine.candidates(engine.rank(task.text))
        items = engine.index.numbered(candidates.numbers.tolist())
        chosen = [items[number] for number in candidates.numbers.tolist()]
        values = matrix(candidates, NAMES).astype(np.float32)
        tasks.append(Task(values, Judged.of(chosen, task), tuple((item.path, item.symbol) for item in chosen)))
    return tasks


def describe_all(chosen: Sequence[Corpus], jobs: int, cluster: ClusterSettings | None) -> dict[str, list[Task]]:
    """Return the candidates of all tasks by repository, computed in other processes: a repository is a unit of work."""
    tasks = {}
    with open_executor(max(2, jobs), cluster) as executor:
        assert executor is not None
        for (corpus,), rows in executor.map_units(described, [(corpus,) for corpus in chosen]):
            if isinstance(rows, UnitFailed):
                raise SystemExit(f"{corpus.name}: {rows.message}")
            tasks[corpus.name] = rows
    return {corpus.name: tasks[corpus.name] for corpus in chosen}


# training


def grade(task: Task) -> NDArray[np.int64]:
    """Return the label of each candidate, an index into GAINS."""
    grades = np.where(task.judged.generous.any(axis=1), 1, 0)
    labels = (task.judged.strict * (1 + task.judged.grades)).max(axis=1, initial=0)
    return np.asarray(np.maximum(grades, labels), np.int64)


def fitted(tasks: Sequence[Task], names: Sequence[str]) -> dict[str, Any]:
    """Train on tasks; return the model as it is stored."""
    import lightgbm

    columns = [NAMES.index(name) for name in names]
    usable = [task for task in tasks if grade(task).max(initial=0) > 1]
    data = lightgbm.Dataset(
        np.concatenate([task.values[:, columns] for task in usable]),
        np.concatenate([grade(task) for task in usable]),
        group=[len(task.values) for task in usable],
    )
    trees = [
        _nested(tree["tree_structure"], 1 / len(SEEDS))[0]
        for seed in SEEDS
        for tree in lightgbm.train(SETTINGS | {"seed": seed}, data, ROUNDS).dump_model()["tree_info"]
    ]
    return {"format": FORMAT, "features": list(names), "trees": trees}


def _nested(node: Mapping[str, Any], scale: float) -> tuple[Any, float, float]:
    """Return a tree as it is stored, its leaves scaled, with the mean of its leaves and their weight."""
    if "leaf_value" in node:
        value = scale * node["leaf_value"]
        return _rounded(value), value, float(node["leaf_count"])
    left, left_mean, left_count = _nested(node["left_child"], scale)
    right, right_mean, right_count = _nested(node["right_child"], scale)
    count = left_count + right_count
    mean = (left_mean * left_count + right_mean * right_count) / count
    return [node["split_feature"], _rounded(node["threshold"]), _rounded(mean), left, right], mean, count


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# evaluation on repositories left out


def ranked(task: Task, scores: Floats) -> NDArray[np.int64]:
    """Return the order of candidates by scores, repeated names lowered as the profile does."""
    profile = PROFILES["default"]
    shares = np.exp(0.3 * (scores - scores.max(initial=-np.inf)))
    seen: dict[tuple[str, str], int] = {}
    for place in np.argsort(-shares, kind="stable")[:100].tolist():
        path, symbol = task.names[place]
        here, anywhere = (path, symbol), ("", symbol)
        repeats = seen.get(here, 0)
        shares[place] *= profile.overload**repeats if repeats else profile.namesake ** seen.get(anywhere, 0)
        seen[here], seen[anywhere] = repeats + 1, seen.get(anywhere, 0) + 1
    return np.argsort(-shares, kind="stable")


def fold(corpus: Corpus) -> int:
    return int(sha256(corpus.name.encode()).hexdigest(), 16) % 8 * FOLDS // 8  # quick folds are pairs of the others


Described = Mapping[str, list[Task]]


def left_out(
    chosen: Sequence[Corpus], tasks: Described, names: Sequence[str] = NAMES
) -> dict[str, list[dict[str, float]]]:
    """Return the figures of every task under a model that was trained without its repository."""
    figures: dict[str, list[dict[str, float]]] = {}
    for part in range(FOLDS):
        tested = [corpus for corpus in chosen if fold(corpus) == part]
        if not tested:
            continue
        model = _model(
            fitted([task for corpus in chosen if fold(corpus) != part for task in tasks[corpus.name]], names)
        )
        for corpus in tested:
            figures[corpus.name] = [evaluated(task, model, names) for task in tasks[corpus.name]]
    return figures


def _model(stored: Mapping[str, Any]) -> TreeModel:
    return TreeModel.of(stored["features"], stored["trees"])


def evaluated(task: Task, model: TreeModel, names: Sequence[str]) -> dict[str, float]:
    columns = [NAMES.index(name) for name in names]
    scores = model.scores(task.values[:, columns].astype(np.float64))
    return task.judged.figures(ranked(task, scores)) | {"candidates": float(task.judged.strict.any(axis=0).mean())}


def report(label: str, chosen: Sequence[Corpus], figures: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    """Print the mean over repositories of each split."""
    for split in dict.fromkeys(corpus.split for corpus in chosen):
        rows = [
            [
                float(np.nanmean([row[name] for row in figures[corpus.name]]))
                for name in figures[corpus.name][0]
                if name[0] != "m"
            ]
            for corpus in chosen
            if corpus.split == split and corpus.name in figures
        ]
        print(f"| {label} | {split} | {' | '.join(f'{value:.3f}' for value in np.mean(rows, axis=0))} |", flush=True)


def confidence_cases(chosen: Sequence[Corpus], tasks: Described, counts: Path, target: Path) -> None:
    """Write what `fit_confidence.py` fits: features of rankings by models that never saw the repository, and outcomes."""
    import assay.rank.ranker

    usual = json.loads(counts.read_text("utf-8"))
    rows = []
    for part in range(FOLDS):
        tested = [corpus for corpus in chosen if fold(corpus) == part]
        if not tested:
            continue
        model = _model(
            fitted([task for corpus in chosen if fold(corpus) != part for task in tasks[corpus.name]], NAMES)
        )
        setattr(assay.rank.ranker, "shipped", lambda name, model=model: model)  # noqa: B010
        rows += [json.dumps(row) for corpus in tested for row in cases(corpus, chosen, usual)]
    target.write_text("\n".join(rows) + "\n", "utf-8")


def curve(chosen: Sequence[Corpus], tasks: Described) -> None:
    """Learning curves: fewer repositories, and fewer tasks of each, to train on; tested on the development split."""
    tested = [corpus for corpus in chosen if corpus.split == "development"]
    others = sorted(
        (corpus for corpus in chosen if corpus.split == "train"),
        key=lambda corpus: sha256(corpus.name.encode()).digest(),
    )
    for repositories, share in [(1, 20), (2, 20), (4, 20), (8, 20), (16, 20), (16, 2), (16, 5), (16, 10)]:
        model = _model(fitted([task for corpus in others[:repositories] for task in tasks[corpus.name][:share]], NAMES))
        figures = {corpus.name: [evaluated(task, model, NAMES) for task in tasks[corpus.name]] for corpus in tested}
        report(f"{repositories} repositories × {share} tasks", tested, figures)


def ablation(chosen: Sequence[Corpus], tasks: Described) -> None:
    for group, left in GROUPS.items():
        report(f"without {group}", chosen, left_out(chosen, tasks, [name for name in NAMES if name not in left]))


def hurry() -> None:
    """Halve the folds, train one seed and use one thread: an eighth of the time, for many evaluations on a busy machine."""
    global FOLDS, SEEDS
    FOLDS, SEEDS = 4, SEEDS[:1]
    SETTINGS.update(num_threads=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of indexed clones of the task corpus")
    parser.add_argument("--bench-tasks", type=Path, required=True, help="development tasks (../shared/bench/tasks)")
    parser.add_argument(
        "--bench-clones", type=Path, required=True, help="folder of indexed clones of their repositories"
    )
    parser.add_argument("--only-evaluate", action="store_true", help="write nothing")
    parser.add_argument("--curve", action="store_true", help="learning curves over repositories and tasks")
    parser.add_argument("--ablation", action="store_true", help="figures without each group of features")
    parser.add_argument("--quick", action="store_true", help="half the folds, one seed; only with --only-evaluate")
    parser.add_argument("--first", type=Path, help="train on first generations of the indexes, built in this folder")
    parser.add_argument("--confidence", type=Path, metavar="FILE", help="write the cases that fit_confidence.py fits")
    parser.add_argument("--counts", type=Path, metavar="FILE", help="with --confidence: of scripts/train_background.py")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compute features; default: 2")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        default="none",
        help="Dask workers that do instead, with benchmarks/ on PYTHONPATH",
    )
    given = parser.parse_args()
    if given.confidence and not given.counts:
        parser.error("--confidence needs --counts")
    if given.quick:
        if not given.only_evaluate:
            parser.error("--quick is for evaluations: add --only-evaluate")
        hurry()
    assert set(NAMES) <= set(FEATURES)
    chosen = [*corpora(given.work, ("train", "development")), *bench_corpora(given.bench_tasks, given.bench_clones)]
    needed = ".git" if given.first else ".assay/current"
    if missing := [corpus.name for corpus in chosen if not (corpus.root / needed).exists()]:
        if not (given.only_evaluate or given.first):
            parser.error(f"not indexed: {', '.join(missing)}")
        print(f"left out, as they are not there: {', '.join(missing)}", file=sys.stderr)
        chosen = [corpus for corpus in chosen if corpus.name not in missing]
    names, model = (FIRST_NAMES, "names") if given.first else (NAMES, "tasks")
    if given.first:
        chosen = [first_generation(corpus, given.first / corpus.name) for corpus in chosen]
    tasks = describe_all(chosen, given.jobs, choose_cluster(given.cluster))
    print("| | split | P@10 | strict R@10 | MRR | candidate recall |\n|---|---|---|---|---|---|")
    report("left out", chosen, left_out(chosen, tasks, names))
    if given.confidence:
        confidence_cases(chosen, tasks, given.counts, given.confidence)
    if given.curve:
        curve(chosen, tasks)
    if given.ablation:
        ablation(chosen, tasks)
    if not given.only_evaluate:
        stored = fitted([task for corpus in chosen for task in tasks[corpus.name]], names)
        target = MODEL_FOLDER / MODELS[model]
        target.write_text(json.dumps(stored, separators=(",", ":")).replace("],[", "],\n[") + "\n", "utf-8")
        print(f"written: {target.relative_to(ROOT)}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
