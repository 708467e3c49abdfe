"""Ablation of the learned ranker by feature group, and its learning curve over the number of repositories.

    python benchmarks/ranker.py --work WORK [--images docs/images]

WORK is what benchmarks/mined.py prepared (scripts/train_commit_ranker.py says how). All figures are of repositories left out of training: the share
of tasks with a right definition among the first five, the mean over repositories. `--images` draws both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "scripts")]

from figure import Line, Point, bars, lines  # noqa: E402
from histories import prepared_as_named  # noqa: E402
from ranker_data import NAMES, Described, described  # noqa: E402
from train_commit_ranker import accuracies, learned, left_out  # noqa: E402

from assay.rank.features import FEATURES  # noqa: E402

FIVE, FILE_FIVE = 1, 4  # columns of accuracies: a right definition, a right file among five
SIZES = (1, 2, 4, 8, 16, 32)
DRAWS = 3  # of so many repositories each
TESTED = 4  # every so many-th repository is never learned from in the curve


def ablation(repositories: Sequence[Described]) -> dict[str, tuple[float, float]]:
    """By what is left out: the shares of tasks with a right definition and with a right file among five."""
    by_hand, everything = left_out(repositories, NAMES)
    out = {"the score by hand": by_hand, "everything": everything}
    for component in dict.fromkeys(feature.component for feature in FEATURES.values()):
        names = [name for name in NAMES if FEATURES[name].component != component]
        out[f"without {component}"] = left_out(repositories, names)[1]
    return {name: (float(row[FIVE]), float(row[FILE_FIVE])) for name, row in out.items()}


def curve(repositories: Sequence[Described]) -> dict[int, list[float]]:
    """By how many repositories it learned from: the shares of each draw, on repositories that are in none."""
    tested = repositories[::TESTED]
    others = [one for at, one in enumerate(repositories) if at % TESTED]
    chance = np.random.default_rng(1)
    out: dict[int, list[float]] = {}
    for size in [size for size in SIZES if size <= len(others)]:
        drawn = [chance.choice(len(others), size, replace=False) for _ in range(DRAWS)]
        out[size] = [_share(tested, [others[at] for at in draw]) for draw in drawn]
    return out


def _share(tested: Sequence[Described], known: Sequence[Described]) -> float:
    weights = learned(known, NAMES)
    return float(np.mean([accuracies(one, weights)[:, FIVE].mean() for one in tested]))


def draw(folder: Path, ablated: Mapping[str, tuple[float, float]], by_size: Mapping[int, Sequence[float]]) -> None:
    """Both as plots."""
    shares = {name: pair[0] for name, pair in ablated.items()}
    title = "right definition among the first five"
    (folder / "ranker-ablation.svg").write_text(f"{bars(shares, title)}\n", "utf-8")
    points = [
        Point(float(np.log2(size)), float(np.mean(found)), f"{size} repositories: {np.mean(found):.3f}")
        for size, found in by_size.items()
    ]
    ticks = {float(np.log2(size)): str(size) for size in by_size}
    plot = lines([Line("learned", points)], ticks, "repositories learned from", title)
    (folder / "ranker-curve.svg").write_text(f"{plot}\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="what mined.py prepared")
    parser.add_argument("--images", type=Path, help="draw the plots here")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    folders = prepared_as_named(given.work)
    repositories = [described(folder, given.work / "described") for folder in folders]
    by_size = curve(repositories)
    print(
        "| repositories learned from | right definition among five | lowest and highest of the draws |\n|--:|--:|--:|"
    )
    for size, found in by_size.items():
        print(f"| {size} | {np.mean(found):.3f} | {min(found):.3f}, {max(found):.3f} |", flush=True)
    ablated = ablation(repositories)
    print("\n| | right definition among five | right file among five |\n|---|--:|--:|")
    for name, (symbol, file) in ablated.items():
        print(f"| {name} | {symbol:.3f} | {file:.3f} |")
    if given.json:
        given.json.write_text(json.dumps({"curve": by_size, "ablation": ablated}, indent=1) + "\n")
    if given.images:
        draw(given.images, ablated, by_size)


if __name__ == "__main__":
    main()
