"""A folder for evaluation tests: golden sets, scripted retrievers, run files with planted ranks, and `assay eval`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.command import Done, assay, assay_here

DONE, QUALITY, COULD_NOT_RUN = 0, 1, 2
TIMES = {"run_id", "created", "latency", "latency_ms"}  # what may differ between two runs of the same thing

Ranks = Mapping[str, int | None]  # query id → rank of its expected document; None = not retrieved


class Workbench:
    """Commands run with the folder as root, so runs are kept in its `.assay`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def golden(self, queries: Iterable[Mapping[str, Any]], name: str = "golden.jsonl") -> Path:
        """Question pairs, a line each."""
        return self.write(name, "".join(json.dumps(query) + "\n" for query in queries))

    def questions(self, count: int, name: str = "golden.jsonl", **more: Any) -> Path:
        """q0, q1, … which expect the documents d0, d1, …"""
        return self.golden((question(number) | more for number in range(count)), name)

    def ranking(self, name: str, ranks: Ranks, depth: int = 10) -> str:
        """A TREC run file with each query's document at its rank; returns the system's SPEC."""
        lines = []
        for query, rank in ranks.items():
            documents = [f"other{place}" for place in range(1, depth + 1)]
            if rank is not None:
                documents.insert(rank - 1, f"d{query[1:]}")
            lines += [f"{query} Q0 {d} {at} {1000 - at} {name}" for at, d in enumerate(documents[:depth], 1)]
        self.write(f"{name}.run", "\n".join(lines) + "\n")
        return f"trec:{name}.run"

    def script(self, code: str, name: str = "retriever.py") -> str:
        """A retriever in Python that is started for each query, with `query` and `k` set; returns the SPEC."""
        path = self.write(
            name,
            f"import json, os, sys, time\nquery, k = sys.argv[1], int(sys.argv[2])\nhere = {str(self.folder)!r}\n{code}\n",
        )
        return f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(path))} {{query}} {{k}}"

    def eval(self, *arguments: str | Path, **options: Any) -> Done:
        return assay(self.folder, "eval", *arguments, "--root", ".", **options)

    def refused(self, *arguments: str | Path) -> Done:
        """A command in this very process: for tables of what is refused."""
        return assay_here(self.folder, "eval", *arguments, "--root", ".")

    def rootless(self, *arguments: str | Path) -> Done:
        """A command that has no root."""
        return assay(self.folder, "eval", *arguments)

    def run(
        self, spec: str, *arguments: str | Path, golden: Path | str = "golden.jsonl", code: int = DONE
    ) -> dict[str, Any]:
        """A run, as JSON."""
        done = self.eval("run", "--golden", golden, "--system", spec, "--format", "json", *arguments)
        assert done.code == code, done.err
        return dict(done.json)

    def json(self, *arguments: str | Path, code: int = DONE) -> dict[str, Any]:
        done = self.eval(*arguments, "--format", "json")
        assert done.code == code, done.err + done.out
        return dict(done.json)


def question(number: int) -> dict[str, Any]:
    return {"id": f"q{number}", "question": f"question number {number}", "expected_docs": [f"d{number}"]}


def timeless(value: Any) -> Any:
    """A run's JSON without what a clock put there."""
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name not in TIMES}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def messages(output: Mapping[str, Any]) -> list[str]:
    """The messages of the warnings in a command's JSON."""
    return [warning["message"] for warning in output["warnings"]]


def codes(output: Mapping[str, Any]) -> list[str]:
    """The codes of the warnings in a command's JSON."""
    return [warning["code"] for warning in output["warnings"]]
