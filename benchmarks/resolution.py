"""Call resolution on real projects: the resolved share, and samples for judging precision by reading.

    python benchmarks/resolution.py [--markdown] DIR…        share of call sites resolved, per project
    python benchmarks/resolution.py --sample 50 DIR          50 random resolved calls with their source lines, to be judged by a reader

The sample is drawn with a fixed seed from the calls that were resolved to exactly one item of the repository, per (caller, callee) pair.
docs/resolution.md holds the figures and verdicts of the last run and says where the projects came from.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from assay.core.items import Edge
from assay.index.pipeline import index
from assay.index.resolve import BY_NAME_OF_FIELD
from assay.rank.status import status
from assay.store.index import Index
from assay.store.layout import Home

CONTEXT = 2  # lines shown above and below a call


def open_index(root: Path, folder: str) -> Index:
    home = Home(Path(folder) / "index")
    index(root, home)
    return Index.open(root, home)


def share(root: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = status(open_index(root, folder))
        rows = {
            name: dataclasses.asdict(row) for name, row in found.languages.items() if row.calls_resolved is not None
        }
        return {"project": root.name, "files": found.files, "calls_resolved": found.calls_resolved, "languages": rows}


def table(results: list[dict[str, Any]]) -> str:
    """The same as a Markdown table, one row per project in its main language."""
    lines = ["| project | language | files | call sites | resolved | floor |", "|---|---|---|---|---|---|"]
    for result in results:
        name, row = max(result["languages"].items(), key=lambda pair: pair[1]["calls"])
        figures = f"{row['calls']:,} | {row['calls_resolved']:.1%} | {row['calls_resolved_floor']:.1%}"
        lines.append(f"| {result['project']} | {name} | {row['files']:,} | {figures} |")
    return "\n".join(lines)


def sample(root: Path, count: int, seed: int, language: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened = open_index(root, folder)
        languages = {path: row.language for path, row in opened.files.items()}
        calls = [e for e in opened.export()[1] if e.type == "calls" and not e.target.startswith("external:")]
        calls = [e for e in calls if e.provenance != "inferred" or e.confidence >= BY_NAME_OF_FIELD]
        if language:
            calls = [e for e in calls if languages[e.source.partition("::")[0]] == language]
        for number, edge in enumerate(random.Random(seed).sample(calls, min(count, len(calls))), 1):
            show(root, opened, number, edge)


def show(root: Path, opened: Index, number: int, edge: Edge) -> None:
    path = edge.source.partition("::")[0]
    lines = (root / path).read_text("utf-8", "replace").splitlines()
    target = opened.by_id(edge.target)
    assert target is not None
    print(f"--- {number}. {edge.source}  →  {edge.target}   [{edge.provenance} {edge.confidence:.2f}]")
    for at in range(max(0, edge.line - 1 - CONTEXT), min(len(lines), edge.line + CONTEXT)):
        print(f"{'>' if at == edge.line - 1 else ' '} {at + 1:5} {lines[at][:160]}")
    print(f"  target: {target.path}:{target.start}  {target.signature}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--language")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if arguments.sample:
        for root in arguments.roots:
            sample(root, arguments.sample, arguments.seed, arguments.language)
    else:
        results = [share(root) for root in arguments.roots]
        print(table(results) if arguments.markdown else json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
