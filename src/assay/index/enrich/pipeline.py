"""Enrich an index: choose tools, ask them, compare, merge. `enrich` is the entry point."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.core.progress import Progress
from assay.errors import AssayError
from assay.index.enrich import scip
from assay.index.enrich.answers import AnswerCache, Asked, Targets, ask_server
from assay.index.enrich.compare import compare
from assay.index.enrich.merge import edges_of_answers, write_edges
from assay.index.enrich.places import Tree
from assay.index.enrich.process import ToolFailed, run, version_of
from assay.index.enrich.tools import Program, find_programs
from assay.index.scan import read_configs, scan
from assay.index.write import ImportedRow
from assay.store import enrichment
from assay.store.generation import Generation
from assay.store.layout import Home
from assay.text.display import counted


@dataclass(frozen=True)
class Request:
    """What to enrich, and what the user allows."""

    languages: Sequence[str] = ()  # empty: all
    tools: Sequence[str] = ()  # names; empty: the best one of each language
    programs: Mapping[str, str] = field(default_factory=dict)  # configured paths by name of tool or program
    allow_build: bool = False  # tools may run code of the repository
    seconds: float = 1800.0  # for everything
    again: bool = False  # ignore cached answers


@dataclass(slots=True)
class ToolRun:
    """What one tool contributed."""

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


def _languages(index: Generation, wanted: Sequence[str]) -> set[str]:
    languages = {row.language for row in index.files.values()}
    if missing := [name for name in wanted if name not in languages]:
        raise AssayError(f"no {missing[0]} files in the index; there are {', '.join(sorted(languages)) or 'none'}")
    return set(wanted) or languages


def enrich(root: Path, home: Home, request: Request, progress: Progress | None = None) -> Enriched:
    """Add the edges of installed tools to the index. Raises AssayError if there is no tool to use."""
    progress = progress or Progress()
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
            tool_run, answers, rows = step.run(program)
            fresh = compare(tree, answers, program.tool.name, configs, progress)
            tool_run.edges, tool_run.new_edges = write_edges(root, home, program.tool.kind, answers, rows)
            comparisons |= fresh
            enrichment.write(home.folder, comparisons)
            result.runs.append(tool_run)
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

    def run(self, program: Program) -> tuple[ToolRun, dict[str, Targets], list[ImportedRow]]:
        """Ask a tool; return what it did, its targets, and the edges that follow."""
        started, tool = time.monotonic(), program.tool
        version = version_of(program, self.root)
        tool_run = ToolRun(tool.name, tool.kind, str(program.path), version, files=len(self.paths))
        if self.request.again:
            version = f"{version} again {time.time_ns()}"
        if tool.kind == "scip":
            asked, rows = self._index(program)
        else:
            asked = ask_server(program, version, self.tree, self.paths, self.cache, self.deadline, self.progress)
            rows = edges_of_answers(self.tree, asked.answers, tool.kind)
        tool_run.answered, tool_run.reused, tool_run.problems = len(asked.answers), asked.reused, asked.problems
        tool_run.seconds = time.monotonic() - started
        return tool_run, asked.answers, rows

    def _index(self, program: Program) -> tuple[Asked, list[ImportedRow]]:
        """Run an indexer over the repository and read what it wrote."""
        self.progress.start(program.tool.name, 1)
        with TemporaryDirectory(prefix="assay-scip-") as folder:
            output, packages = Path(folder) / "index.scip", Path(folder) / "packages.json"
            packages.write_text("[]")  # scip-python would run pip to list the installed packages
            fill = {"{root}": str(self.root), "{output}": str(output), "{packages}": str(packages)}
            command = [str(program.path), *(fill.get(word, word) for word in program.tool.arguments)]
            try:
                run(command, self.root, program.tool.environment, self.deadline)
                documents = scip.read(output)
            except (ToolFailed, AssayError) as error:
                return Asked({}, [str(error)]), []
        self.progress.advance()
        wanted = set(self.paths)
        documents = [document for document in documents if document.path in wanted]
        asked = Asked(scip.answers(self.tree, documents), [])
        if left := len(wanted) - len(asked.answers):
            asked.problems.append(
                f"{counted(left, 'file')} not indexed by {program.tool.name}: not part of its project"
            )
        return asked, scip.edges(self.tree, documents)
