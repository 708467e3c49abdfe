"""The table of SCIP indexers and language servers, and where the user has them.

A program counts only from a safe folder of the user's PATH (`assay.system.programs`) or from the user's configuration,
and never from inside a repository: a clone may bring its own `basedpyright` in `node_modules/.bin` or `.venv/bin`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from assay.errors import AssayError
from assay.system.programs import find_program, guard, is_guarded
from assay.text.suggest import require_name

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SCRIPTS = frozenset({"typescript", "tsx", "javascript"})
_C = frozenset({"c", "cpp"})
# go: no download of modules or toolchains, no C compiler, nothing written to go.mod
_GO = {"GOFLAGS": "-mod=readonly", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOSUMDB": "off"}
_PYTHON_SETTINGS = {
    # named, so that none is looked for in the repository: a clone may bring its own `.venv/bin/python`
    "pythonPath": "{python}",
    # open files only: diagnostics of the whole repository are of no use here
    "analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True, "typeCheckingMode": "off"},
}


@dataclass(frozen=True)
class Tool:
    """A row of the table. In arguments, `{root}` and `{output}` stand for the repository and the SCIP file to write."""

    name: str
    kind: Literal["scip", "lsp"]
    languages: frozenset[str]
    programs: tuple[str, ...]  # names on the PATH; the first that exists is used
    arguments: tuple[str, ...]
    install: str
    runs_repository_code: str = ""  # what it may execute of the repository; empty: nothing
    needs: tuple[str, ...] = ()  # it works only in a repository with one of these files at its root
    version: tuple[str, ...] = ("--version",)  # arguments that print the version
    version_programs: Mapping[str, str] = field(default_factory=dict)  # sibling that prints it instead
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)  # LSP initialization options
    settings: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)  # LSP configuration by section
    loads: bool = False  # it answers nothing until it has loaded the project and says so by progress messages
    companion: str = ""  # a file beside its own package that it must use instead of the repository's


# Indexers first: they see the whole project at once and are faster than a request for each reference.
TOOLS = (
    Tool(
        "scip-python", "scip", frozenset({"python"}), ("scip-python",),
        ("index", "--cwd", "{root}", "--project-name", "repository", "--project-version", "0", "--quiet",
         "--environment", "{packages}", "--output", "{output}"),
        "npm install -g @sourcegraph/scip-python",
    ),
    Tool(
        "scip-typescript", "scip", _SCRIPTS, ("scip-typescript",),
        ("index", "--cwd", "{root}", "--no-progress-bar", "--output", "{output}"),
        "npm install -g @sourcegraph/scip-typescript", needs=("tsconfig.json",),
    ),
    Tool(
        "scip-go", "scip", frozenset({"go"}), ("scip-go",), ("--project-root", "{root}", "--output", "{output}"),
        "go install github.com/sourcegraph/scip-go/cmd/scip-go@latest", needs=("go.mod",), environment=_GO,
    ),
    Tool(
        "scip-java", "scip", frozenset({"java", "kotlin", "scala"}), ("scip-java",),
        ("index", "--cwd", "{root}", "--output", "{output}"), "https://sourcegraph.github.io/scip-java",
        runs_repository_code="the build (Gradle, Maven, sbt)", needs=("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"),
    ),
    Tool(
        "rust-analyzer-scip", "scip", frozenset({"rust"}), ("rust-analyzer",), ("scip", "{root}", "--output", "{output}"),
        "rustup component add rust-analyzer", runs_repository_code="build scripts and procedural macros",
        needs=("Cargo.toml",),
    ),
    Tool(
        "basedpyright", "lsp", frozenset({"python"}), ("basedpyright-langserver", "pyright-langserver"), ("--stdio",),
        "pip install basedpyright, or npm install -g basedpyright",
        version_programs={"basedpyright-langserver": "basedpyright", "pyright-langserver": "pyright"},
        settings={"python": _PYTHON_SETTINGS, "basedpyright": _PYTHON_SETTINGS},
    ),
    Tool(
        "typescript-language-server", "lsp", _SCRIPTS, ("typescript-language-server",), ("--stdio",),
        "npm install -g typescript-language-server typescript",
        # the repository's own copy of TypeScript, its plugins and downloaded typings are all code; the syntax server
        # answers before imports are resolved
        companion="typescript/lib/tsserver.js",
        options={"disableAutomaticTypingAcquisition": True, "plugins": [], "tsserver": {"path": "{companion}", "useSyntaxServer": "never"}},
    ),
    Tool(
        "gopls", "lsp", frozenset({"go"}), ("gopls",), (), "go install golang.org/x/tools/gopls@latest",
        needs=("go.mod", "go.work"), version=("version",), environment=_GO, loads=True,
    ),
    Tool(
        "clangd", "lsp", _C, ("clangd",),
        # no index files in the repository, none of its .clangd files, no compiler that it names
        ("--background-index=false", "--enable-config=false", "--clang-tidy=false", "--log=error"),
        "apt-get install clangd, or https://clangd.llvm.org/installation", needs=("compile_commands.json", "compile_flags.txt"),
    ),
    Tool(
        "rust-analyzer", "lsp", frozenset({"rust"}), ("rust-analyzer",), (), "rustup component add rust-analyzer",
        runs_repository_code="build scripts and procedural macros", needs=("Cargo.toml",), loads=True,
    ),
    Tool(
        "jdtls", "lsp", frozenset({"java"}), ("jdtls",), (), "https://github.com/eclipse-jdtls/eclipse.jdt.ls",
        runs_repository_code="the build (Gradle, Maven)", needs=("pom.xml", "build.gradle", "build.gradle.kts"), loads=True,
    ),
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True)
class Program:
    """A tool with the program that was found for it; `problem` says why it cannot be used."""

    tool: Tool
    path: Path | None
    problem: str = ""
    companion: str = ""
    python: str = ""  # the user's Python interpreter, outside the repositories
    chosen: bool = False  # to be run

    @property
    def usable(self) -> bool:
        return self.path is not None and not self.problem


def find_programs(
    root: Path, languages: Collection[str], configured: Mapping[str, str], allow_build: bool, names: Sequence[str] = ()
) -> list[Program]:
    """Return a row for every tool of the languages, or for the named ones, in the order of the table.

    Those to run are marked as chosen.
    """
    guard(root)
    for name in names:
        require_name("tool", name, BY_NAME)
    candidates = [BY_NAME[name] for name in names] if names else TOOLS
    fitting = [tool for tool in candidates if tool.languages & set(languages)]
    return list(_choose([_find(tool, root, configured, allow_build) for tool in fitting], bool(names)))


def _choose(programs: Sequence[Program], named: bool) -> Iterator[Program]:
    """Yield the programs, those to run marked: all named ones, else the first usable one for each language."""
    covered: set[str] = set()
    for program in programs:
        chosen = program.usable and (named or not program.tool.languages <= covered)
        if chosen:
            covered |= program.tool.languages
        yield replace(program, chosen=chosen)


def _find(tool: Tool, root: Path, configured: Mapping[str, str], allow_build: bool) -> Program:
    try:
        path = _locate(tool, configured)
    except AssayError as error:
        return Program(tool, None, str(error))
    if path is None:
        return Program(tool, None, f"not installed: {tool.install}")
    if tool.needs and not any((root / name).is_file() for name in tool.needs):
        return Program(tool, path, f"needs {' or '.join(tool.needs)} at the root of the repository")
    if tool.runs_repository_code and not allow_build:
        return Program(
            tool, path, f"runs {tool.runs_repository_code} of the repository: add --allow-build if you trust it"
        )
    companion = _companion(tool, path)
    if tool.companion and not companion:
        return Program(tool, path, f"has no {tool.companion} beside it, and that of the repository is not used")
    return Program(tool, path, companion=companion, python=find_program("python3") or "")


def _locate(tool: Tool, configured: Mapping[str, str]) -> Path | None:
    """Return the program of a tool: as configured by its name or that of a program, else from the PATH."""
    for name in (tool.name, *tool.programs):
        if name in configured:
            path = Path(configured[name]).expanduser()
            if not path.is_absolute() or not os.access(path, os.X_OK) or not path.is_file():
                raise AssayError(f"{path}: configured for {name}, but it is not a program with an absolute path")
            if is_guarded(path):
                raise AssayError(f"{path}: configured for {name}, but it is inside the repository")
            return path
    location = next(filter(None, map(find_program, tool.programs)), None)
    return Path(location) if location else None


def _companion(tool: Tool, program: Path) -> str:
    """Return the file that a tool needs from a package beside its own; empty if there is none."""
    if not tool.companion:
        return ""
    for folder in Path(os.path.realpath(program)).parents:
        path = folder / "node_modules" / tool.companion
        if path.is_file() and not is_guarded(path):
            return str(path)
    return ""
