"""Enrich an index: choose tools, ask them, compare, merge. `enrich` is the entry point."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.index.enrich import scip
from assay.index.enrich.answers import AnswerCache, Replies, ask_server
from assay.index.enrich.compare import compare
from assay.index.enrich.merge import edges_of_answers, write_edges
from assay.index.enrich.places import Tree
from assay.index.enrich.process import ToolFailed, run, version_of
from assay.index.enrich.tools import Program, find_programs
from assay.index.scan import read_configs, scan
from assay.index.write import ImportedRow
from assay.store import enrichment
from assay.store.enrichment import FileComparison
from assay.store.generation import Generation
from assay.store.layout import Home
from assay.text.display import counted


@dataclass(frozen=True)
class Request:
    """Options of a run, and what the user allows."""

    languages: Sequence[str] = ()  # empty: all
    tools: Sequence[str] = ()  # names; empty: the best one of each language
    programs: Mapping[str, str] = field(default_factory=dict)  # configured paths by name of tool or program
    allow_build: bool = False  # tools may run code of the repository
    seconds: float = 1800.0  # for everything
    again: bool = False  # ignore cached answers


@dataclass(slots=True)
class ToolRun:
    """Contribution of one tool."""

    tool: str
    kind: str
    program: str
    version: str
    files: int = 0  # of its languages
    answered: int = 0  # files
    reused: int = 0  # files whose answers came from the cache
    edges: int = 0
    new_edges: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Enriched:
    """Result of `enrich`."""

    runs: list[ToolRun] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)  # tool → why it was not used
    seconds: float = 0.0


def available(root: Path, home: Home, request: Request) -> list[Program]:
    """Return the tools for the languages of the index, with the reasons why some cannot be used."""
    index = Generation.open(root, home)
    try:
        languages = _languages(index, request.languages)
    finally:
        index.close()
    return find_programs(root, languages, request.programs, request.allow_build, request.tools)


def _languages(index: Generation, names: Sequence[str]) -> set[str]:
    languages = {row.language for row in index.files.values()}
    if missing := [name for name in names if name not in languages]:
        raise AssayError(f"no {missing[0]} files in the index; there are {', '.join(sorted(languages)) or 'none'}")
    return set(names) or languages


def enrich(root: Path, home: Home, request: Request, progress: Progress | None = None) -> Enriched:
    """Add the edges of installed tools to the index. Raises AssayError if there is no tool to use."""
    if os.name == "nt":  # pipes cannot be polled there
        raise AssayError("assay enrich needs Linux or macOS; elsewhere, run a SCIP indexer and assay ingest-scip")
    progress, root = progress or Progress(), Path(os.path.abspath(root))
    started = time.monotonic()
    programs = available(root, home, request)
    chosen = [program for program in programs if program.chosen]
    if not chosen:
        reasons = "\n".join(f"  {program.tool.name}: {program.problem}" for program in programs)
        raise AssayError(
            f"no tool to enrich this index with\n{reasons}" if programs else "no tool knows these languages"
        )
    result = Enriched(unavailable={p.tool.name: p.problem for p in programs if p.problem})
    index = Generation.open(root, home)
    cache = AnswerCache(home.folder)
    try:
        languages = _languages(index, request.languages)
        asked_languages = {name for program in chosen for name in program.tool.languages} & languages
        tree = Tree.read(root, home, index, asked_languages, progress)
        configs = read_configs(root, scan(root))
        comparisons = enrichment.read(home.folder, index.files)
        for program in chosen:
            paths = sorted(p for p in tree.places if index.files[p].language in program.tool.languages & languages)
            step = _Step(root, home, tree, paths, cache, request, started + request.seconds, progress)
            result.runs.append(step.run(program, version_of(program), comparisons, configs))
        cache.prune()
    finally:
        cache.close()
        index.close()
    result.seconds = time.monotonic() - started
    return result


@dataclass(frozen=True)
class _Step:
    """One tool's turn."""

    root: Path
    home: Home
    tree: Tree
    paths: list[str]
    cache: AnswerCache
    request: Request
    deadline: float
    progress: Progress

    def run(
        self, program: Program, version: str, comparisons: dict[str, FileComparison], configs: dict[str, str]
    ) -> ToolRun:
        """Ask a tool, compare what it says, and merge its edges."""
        started, tool = time.monotonic(), program.tool
        outcome = ToolRun(tool.name, tool.kind, str(program.path), version, files=len(self.paths))

        def unanswered(path: str) -> FileComparison:
            return FileComparison(self.tree.index.files[path].hash, tool.name, version, disagreements=[])

        if tool.kind == "scip":
            previous = [comparisons.get(path) for path in self.paths]
            if not self.request.again and all(
                row and (row.tool, row.version) == (tool.name, version) for row in previous
            ):
                outcome.answered = outcome.reused = len(self.paths)  # an indexer sees all files or none
                return outcome
            replies, rows = self._index(program)
        else:
            key = f"{version} {time.time_ns()}" if self.request.again else version
            replies = ask_server(program, key, self.tree, self.paths, self.cache, self.deadline, self.progress)
            rows = edges_of_answers(self.tree, replies.answers, tool.kind)
        outcome.answered, outcome.reused, outcome.problems = len(replies.answers), replies.reused, replies.problems
        if replies.answers:
            left_out = self.paths if tool.kind == "scip" else ()  # noted, so that it does not run again for them
            comparisons |= {path: unanswered(path) for path in left_out if path not in comparisons}
            comparisons |= compare(self.tree, replies.answers, configs, unanswered, self.progress)
            outcome.edges, outcome.new_edges = write_edges(self.root, self.home, tool.kind, replies.answers, rows)
            enrichment.write(self.home.folder, comparisons)
        outcome.seconds = time.monotonic() - started
        return outcome

    def _index(self, program: Program) -> tuple[Replies, list[ImportedRow]]:
        """Run an indexer over the repository and read what it wrote."""
        self.progress.start(program.tool.name, 1)
        with TemporaryDirectory(prefix="assay-scip-") as folder:
            output, packages = Path(folder) / "index.scip", Path(folder) / "packages.json"
            packages.write_text("[]")  # scip-python would run pip to list the installed packages
            fill = {"{root}": str(self.root), "{output}": str(output), "{packages}": str(packages)}
            command = [str(program.path), *(fill.get(word, word) for word in program.tool.arguments)]
            try:
                run(command, program.tool.environment, self.deadline)
                documents = scip.read(output)
            except (ToolFailed, AssayError) as error:
                return Replies({}, [str(error)]), []
        self.progress.advance()
        covered = set(self.paths)
        documents = [document for document in documents if document.path in covered]
        replies = Replies(scip.answers(self.tree, documents), [])
        if not replies.answers:
            replies.problems.append(f"indexed none of {counted(len(covered), 'file')}")
        return replies, scip.edges(self.tree, documents)
