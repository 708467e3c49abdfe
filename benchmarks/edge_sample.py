"""Draw random edges or links of a type with the source around them, to be judged by reading.

    python benchmarks/edge_sample.py --type gated_by_flag --root DIR [--root DIR …] [--links] [--count 50] [--seed 1]

Every DIR is a repository with an index, or a folder of repositories (`--index` indexes first). Edges of all of them are
pooled, sorted and drawn with the seed, so the same indexes yield the same sample. Sources in tests can be left out
(`--no-tests`), targets restricted by a text (`--match route:`).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import assay
from assay.core.items import EDGE_NAMES, PROVENANCES

CONTEXT = 2  # lines shown around the line of an edge


class Sample(NamedTuple):
    """An edge or link of a repository."""

    root: str
    source: str
    target: str
    path: str
    line: int
    provenance: str


def edges(root: Path, type: str) -> Iterator[Sample]:
    """Yield the edges of a type in a repository's index."""
    index = assay.Repository(root).index
    connection = index.catalogue.connection
    files = {
        number: (id, path, test)
        for number, id, path, test in connection.execute(
            "SELECT s.number, s.id, f.path, s.test FROM symbols s JOIN files f ON f.number = s.file"
        )
    }
    names = {-number: f"external:{name}" for number, name in connection.execute("SELECT number, name FROM externals")}
    for row in index.generation.edges.all:
        if EDGE_NAMES[int(row["type"])] == type:
            id, path, _ = files[int(row["source"])]
            target = int(row["target"])
            name = names[target] if target < 0 else files[target][0]
            yield Sample(str(root), id, name, path, int(row["line"]), PROVENANCES[int(row["provenance"])])


def links(root: Path, type: str) -> Iterator[Sample]:
    """Yield the links of a type in a repository's index."""
    for link in assay.Repository(root).index.links.all:
        if link.type == type:
            yield Sample(
                str(root), link.source, f"{link.target}  ({link.detail})", link.path, link.line, link.provenance
            )


def excerpt(sample: Sample) -> str:
    """Return the lines around an edge, its own line marked."""
    try:
        lines = (Path(sample.root) / sample.path).read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return f"    ({error})"
    first = max(sample.line - 1 - CONTEXT, 0)
    return "\n".join(
        f"  {'>' if number == sample.line else ' '} {number:5} {text[:160]}"
        for number, text in enumerate(lines[first : sample.line + CONTEXT], first + 1)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", required=True)
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--links", action="store_true", help="links (store/links) instead of edges")
    parser.add_argument("--index", action="store_true", help="index each repository first")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--match", default="", help="text that the target contains")
    parser.add_argument("--no-tests", action="store_true", help="leave out sources whose path looks like a test")
    arguments = parser.parse_args()
    from assay.languages.conventions import is_test_path

    pool: list[Sample] = []
    for root in arguments.root:
        if arguments.index:
            assay.Repository(root).refresh()
        rows = (links if arguments.links else edges)(root, arguments.type)
        chosen = [row for row in rows if arguments.match in row.target]
        pool += [row for row in chosen if not (arguments.no_tests and is_test_path(row.path))]
        print(f"# {root}: {len(chosen)}")
    pool.sort()
    drawn = random.Random(arguments.seed).sample(pool, min(arguments.count, len(pool)))
    for number, sample in enumerate(drawn, 1):
        print(f"\n[{number}] {Path(sample.root).name}: {sample.source}\n    → {sample.target}  {sample.provenance}")
        print(f"    {sample.path}:{sample.line}")
        print(excerpt(sample))


if __name__ == "__main__":
    main()
