"""Record the output of assay and compare two records, to check that a refactoring changes nothing.

    python scripts/equality.py record --source SRC --tasks TASKS --corpus DIR [--edges NAME ...] --output FILE
    python scripts/equality.py compare OLD NEW [--rename OLD_KEY=NEW_KEY ...]

`record` runs the package in SRC (a `src` folder of any version of assay) and writes three tables as gzipped JSON:

- rankings: the items and scores of `assay context` for every task of TASKS, whose repositories are folders of DIR;
- edges: every edge of the index of each fixture in tests/fixtures and of each repository NAME in DIR;
- answers: the JSON of every command on a small fixture, without times, run ids and paths of this machine.

Indexes are built in a temporary folder, so nothing is written into DIR. `compare` prints the first differences of each table and exits
with 1 if there are any; `--rename` accounts for JSON keys that were renamed on purpose.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
SHOWN = 5  # differences printed of each table
VOLATILE = re.compile(
    r"^(.*seconds|.*_ms|ms|started|finished|created|run_id|id_of_run|time|duration|latency.*|version|made)$"
)

# runs commands in one process: each line of stdin is a list of arguments, each line of stdout is [exit code, output]
DRIVER = """
import contextlib, io, json, sys
from assay.cli import main
real, requests = sys.stdout, sys.stdin
sys.stdin = open("/dev/null")
for line in requests:
    sys.argv = ["assay", *json.loads(line)]
    out = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    print(json.dumps([code, out.getvalue()]), file=real, flush=True)
"""


class Assay:
    """One process of the version under test that answers commands."""

    def __init__(self, source: Path, folder: Path, home: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(source), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"assay {' '.join(arguments)}: the process ended")
        code, output = json.loads(line)
        return code, output

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def tasks_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (repository, description) of every task file."""
    for path in sorted(folder.rglob("*.yaml")):
        task = yaml.safe_load(path.read_text("utf-8"))
        text = task.get("description") or task.get("task") or task.get("query")
        yield path.relative_to(folder).parts[0], " ".join(str(text).split())


def record_rankings(source: Path, tasks: Path, corpus: Path, work: Path) -> dict[str, Any]:
    rankings: dict[str, Any] = {}
    by_repository: dict[str, list[str]] = {}
    for repository, text in tasks_of(tasks):
        by_repository.setdefault(repository, []).append(text)
    for repository, texts in by_repository.items():
        root, index = corpus / repository, work / f"rank-{repository}"
        assay = Assay(source, root, work)
        assay.run("index", str(root), "--index-dir", str(index))
        for text in texts:
            arguments = ("-k", "50", "--budget", "2000", "--format", "json", "--no-cache")
            _, output = assay.run("context", text, "--root", str(root), "--index-dir", str(index), *arguments)
            answer = json.loads(output)
            rankings[f"{repository}: {text}"] = [
                [item["id"], round(item["score"], 6), item["start"], item["end"]] for item in answer["items"]
            ] + [answer["tokens"]]
        assay.close()
        print(f"  {repository}: {len(texts)} rankings", file=sys.stderr)
    return rankings


def record_edges(source: Path, roots: Sequence[Path], work: Path) -> dict[str, Any]:
    edges: dict[str, Any] = {}
    for root in roots:
        index = work / f"edges-{root.name}"
        assay = Assay(source, root, work)
        code, output = assay.run("index", str(root), "--index-dir", str(index))
        assay.close()
        if code:
            raise SystemExit(f"{root}: index failed: {output}")
        edges[root.name] = read_edges(index)
        print(f"  {root.name}: {len(edges[root.name])} edges", file=sys.stderr)
    return edges


def read_edges(index: Path) -> list[list[Any]]:
    """Return every edge by the ids of its ends, sorted."""
    generation = index / "generations" / (index / "current").read_text().strip()
    catalogue = sqlite3.connect(generation / "catalogue.db")
    ids = dict(catalogue.execute("SELECT number, id FROM symbols"))
    ids |= {-number: name for number, name in catalogue.execute("SELECT number, name FROM externals")}
    catalogue.close()
    table = np.load(generation / "edges.npy")
    rows = zip(
        *(table[field].tolist() for field in ("source", "target", "type", "provenance", "confidence", "line")),
        strict=False,
    )
    return sorted([ids[s], ids[t], kind, provenance, round(c, 4), line] for s, t, kind, provenance, c, line in rows)


def record_answers(source: Path, work: Path) -> dict[str, Any]:
    """Return the JSON of every command on the Python fixture with a document beside it."""
    root = work / "answers"
    shutil.copytree(FIXTURES / "python", root)
    shutil.copy(ROOT / "docs" / "graph.md", root / "graph.md")
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for name in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@b", f"GIT_{name}_DATE": "2026-01-01T00:00:00Z"}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Add the shop with its basket and prices"]):
        subprocess.run(["git", *command], cwd=root, env=environment, check=True)
    golden = work / "golden.jsonl"
    assay = Assay(source, root, work)
    assay.run("index", str(root))
    symbols = json.loads(assay.run("symbols", "*", "--format", "json")[1])
    names = sorted({row["symbol"] for row in _rows(symbols) if row.get("kind") in ("class", "method", "function")})
    files = sorted({row["path"] for row in _rows(symbols)})
    with golden.open("w") as file:
        for name, question in zip(names[:8], ("what does {} do", "where is {} used") * 4, strict=False):
            record = {"id": name, "question": question.format(name), "expected_symbols": [name]}
            file.write(json.dumps(record) + "\n")
    task, target = f"how does {names[0]} work", names[0]
    commands: list[tuple[str, ...]] = [
        ("status",), ("config",), ("symbols", "*"), ("context", task), ("context", "--files", files[0]),
        ("context", "--pr", "HEAD"), ("search", task), ("ask", "What is an edge?"), ("ask", "How do I renew a passport?"),
        ("why", task, target), ("why", task, names[-1]), ("impact", target), ("tests", files[0]), ("feedback", "list"),
        ("context", task, "--profile", "change"), ("why", task, target, "--profile", "change"),
        ("eval", "verify", "--golden", str(golden)),
        ("eval", "run", "--golden", str(golden), "--system", "assay", "--matching", "strict", "--label", "a"),
        ("eval", "run", "--golden", str(golden), "--system", "assay:change", "--matching", "strict", "--label", "b"),
        ("eval", "list",), ("eval", "show", "a"), ("eval", "compare", "a", "b"), ("eval", "diagnose", "a"),
        ("eval", "gate", "--run", "b", "--baseline", "a"),
    ]  # fmt: skip
    answers: dict[str, Any] = {}
    for arguments in commands:
        code, output = assay.run(*arguments, "--format", "json")
        try:
            answer = masked(json.loads(output), str(work))
        except ValueError:
            answer = output.replace(str(work), "WORK")
        answers[" ".join(arguments).replace(str(work), "WORK")] = [code, answer]
    assay.close()
    return answers


def _rows(answer: Any) -> list[dict[str, Any]]:
    """Return the list of rows in an answer, whatever key it stands under."""
    if isinstance(answer, list):
        return answer
    return next(value for value in answer.values() if isinstance(value, list))


def masked(value: Any, work: str) -> Any:
    """Replace what differs from one run to the next."""
    if isinstance(value, dict):
        return {key: "…" if VOLATILE.match(key) else masked(inner, work) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, work) for inner in value]
    if isinstance(value, float):
        return round(value, 9)
    return value.replace(work, "WORK") if isinstance(value, str) else value


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Replace keys of dictionaries at any depth."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(inner, names) for key, inner in value.items()}
    return [renamed(inner, names) for inner in value] if isinstance(value, list) else value


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Yield a line for each place where two values differ."""
    if type(old) is not type(new):
        yield f"{at}: {_short(old)} → {_short(new)}"
    elif isinstance(old, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                yield f"{at}/{key}: only {'before' if key in old else 'after'}"
            else:
                yield from differences(old[key], new[key], f"{at}/{key}")
    elif isinstance(old, list):
        if len(old) != len(new):
            yield f"{at}: {len(old)} → {len(new)} entries"
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            yield from differences(before, after, f"{at}[{number}]")
    elif old != new:
        yield f"{at}: {_short(old)} → {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else f"{text[:77]}…"


def record(arguments: argparse.Namespace) -> int:
    source = arguments.source.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary).resolve()
        fixtures = []
        for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
            shutil.copytree(folder, work / "fixtures" / folder.name)
            fixtures.append(work / "fixtures" / folder.name)
        roots = [*fixtures, *(arguments.corpus.resolve() / name for name in arguments.edges)]
        tables = {
            "answers": record_answers(source, work),
            "edges": record_edges(source, roots, work),
            "rankings": record_rankings(source, arguments.tasks, arguments.corpus.resolve(), work),
        }
    with gzip.open(arguments.output, "wt", encoding="utf-8") as file:
        json.dump(tables, file)
    return 0


def compare(arguments: argparse.Namespace) -> int:
    with gzip.open(arguments.old, "rt") as old_file, gzip.open(arguments.new, "rt") as new_file:
        old, new = json.load(old_file), json.load(new_file)
    names = dict(pair.split("=", 1) for pair in arguments.rename)
    failed = 0
    for table in old:
        lines = list(differences(renamed(old[table], names), new.get(table)))
        print(f"{table}: {len(old[table])} entries, {len(lines)} differences")
        print("".join(f"  {line}\n" for line in lines[:SHOWN]), end="")
        failed += len(lines)
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--source", type=Path, default=ROOT / "src")
    recording.add_argument("--tasks", type=Path, required=True)
    recording.add_argument("--corpus", type=Path, required=True)
    recording.add_argument("--edges", nargs="*", default=[])
    recording.add_argument("--output", type=Path, required=True)
    recording.set_defaults(run=record)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--rename", nargs="*", default=[], metavar="OLD=NEW")
    comparing.set_defaults(run=compare)
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
