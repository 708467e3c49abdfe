"""Options shared by commands, and the repositories they open: roots, servers, ranking, search filters."""

from __future__ import annotations

import contextlib
import functools
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assay.api import Repository, SearchFilters, Workspace
from assay.cli.common import Bar, F, Size, confirm, echo, echo_text, find_root, is_terminal, page
from assay.config.roots import roots as parse_roots
from assay.config.roots import workspace_around
from assay.core.items import KINDS
from assay.errors import AssayError
from assay.rank.profile import DEFAULT, PROFILES
from assay.system.files import TooWide, check_extent
from assay.text.display import counted
from assay.text.tokens import LONGEST_TASK


class MultiValueCommand(click.Command):
    """Command whose `several` options (each with `multiple`) accept many values after one flag."""

    def __init__(self, *arguments: Any, several: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._multi_value_options = several

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._expand_values(args)))

    def _expand_values(self, arguments: list[str]) -> Iterator[str]:
        """Yield the arguments with the option repeated before each of its values."""
        option = ""
        for position, argument in enumerate(arguments):
            if argument == "--":
                yield from arguments[position:]
                return
            if argument.startswith("-"):
                option = argument if argument in self._multi_value_options else ""
                next_argument = arguments[position + 1 : position + 2]
                if option and next_argument and not next_argument[0].startswith("-"):
                    continue
                yield argument
            else:
                yield from (option, argument) if option else (argument,)


# Standard input

_BYTES_PER_CHARACTER = 4  # of UTF-8, at most


class TextOrStdin(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Text of an argument, or standard input if it is `-`: up to LONGEST_TASK characters, with a warning if longer."""

    def __init__(self, noun: str) -> None:
        self.name = noun

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._read() if value == "-" else str(value)

    def _read(self) -> str:
        example = f"assay {click.get_current_context().info_name} -"
        if sys.stdin is None or sys.stdin.isatty():
            raise AssayError(f"- reads the {self.name} from standard input, which is a terminal: cat FILE | {example}")
        text = sys.stdin.buffer.read(LONGEST_TASK * _BYTES_PER_CHARACTER + 1).decode("utf-8", "replace")
        if not text.strip():
            raise AssayError(f"standard input is empty, so there is no {self.name}: cat FILE | {example}")
        if len(text) > LONGEST_TASK:
            echo(f"assay: warning: only the first {LONGEST_TASK:,} characters of standard input are read", err=True)
        return text[:LONGEST_TASK].strip()


# Repositories


def root_option(what: str = "Repository") -> Callable[[F], F]:
    """Return the option --root of a command on a single repository."""
    return click.option(
        "--root",
        type=click.Path(path_type=Path),
        help=f"{what}. Default: the one around the current folder.",
        metavar="DIR",
    )


_index_dir_option = click.option(
    "--index-dir",
    type=click.Path(path_type=Path),
    help="Index directory. Default: .assay/ at the root.",
    metavar="DIR",
)


def roots_options(function: F) -> F:
    """Add --root (repeatable) and --index-dir."""
    return click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="DIR",
        help="Repository. May be repeated (optionally LABEL=DIR) to query several repositories together. "
        "Default: the workspace or repository around the current folder.",
    )(_index_dir_option(function))


def single_repository_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add --root and --index-dir; pass the repository, never a workspace, to the command as `repo`."""

    @root_option()
    @_index_dir_option
    @functools.wraps(function)
    def opened(*arguments: Any, root: Path | None, index_dir: Path | None, **options: Any) -> None:
        workspace = workspace_around((root or Path.cwd()).resolve())
        if workspace is not None and (root is None or workspace == root.resolve()):
            Workspace.at(workspace).only("this")
        with Repository(find_root(root), index_dir) as repo:
            function(*arguments, repo=repo, **options)

    return opened


def repository_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add --root, --index-dir and --index; pass the open repository to the command as `repo`."""

    @_build_option
    @functools.wraps(function)
    def opened(*arguments: Any, repo: Repository, build: bool, **options: Any) -> None:
        for label, member in repo.members.items():
            if build or (member.home.named() is None and _confirm_build(member.root)):
                _build(member, f"{label}: " if label else "")
        function(*arguments, repo=repo, **options)

    return opened


def _build_option(function: Callable[..., None]) -> Callable[..., None]:
    @roots_options
    @click.option("--index", "build", is_flag=True, help="Build or update the complete index first, without asking.")
    @functools.wraps(function)
    def opened(*arguments: Any, roots: tuple[str, ...], index_dir: Path | None, **options: Any) -> None:
        with open_repository(roots, index_dir) as repo:
            function(*arguments, repo=repo, **options)

    return opened


class Refresh:
    """Brings the index up to date before a question is answered, if that is quick; otherwise says what is stale."""

    def __init__(self, repo: Repository, enabled: bool) -> None:
        self.repo, self.enabled = repo, enabled

    def __call__(self, complete: bool = False) -> bool:
        """Return whether the index is up to date now; if not, print why. `complete`: wait for calls and history."""
        self.repo.index  # noqa: B018 (raises NoIndex)
        if complete:
            self.complete()
        try:
            stale: object = self.repo.update_if_quick() if self.enabled else self.repo.stale()
        except AssayError as error:  # the folder is gone: the index still answers
            stale = f"assay: warning: cannot compare the index with the files: {error}"
        if stale:
            echo(stale, err=True)
        return stale is None

    def build_missing(self, everything: bool) -> None:
        """Build missing indexes as far as questions need them, or bring all up to date.

        A folder that is no repository is not indexed without asking, if there is someone to ask.
        """
        for label, member in self.repo.members.items():
            if everything or (self.enabled and not member.home.await_first() and _should_build(member.root)):
                _build(member, f"{label}: " if label else "", wait=everything)

    def complete(self) -> None:
        """Wait for calls and history: some questions are about them."""
        if self.enabled and self.repo.pending:
            with Bar() as bar:
                self.repo.complete(bar)

    def leave_rest(self) -> None:
        """Say what the answer could not take into account, and leave it to a background process."""
        if pending := self.repo.pending:
            in_background = self.enabled and self.repo.complete_in_background()
            echo("calls and history follow in the background" if in_background else pending, err=True)


def question_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add options as `repository_options`, and --no-refresh, passed as `refresh`; it is called before the first query.

    A missing index is built as far as the question needs it, and the rest left to the background.
    """

    @_build_option
    @click.option("--no-refresh", is_flag=True, help="Neither build nor update the index first, even if that is quick.")
    @functools.wraps(function)
    def opened(*arguments: Any, repo: Repository, build: bool, no_refresh: bool, **options: Any) -> None:
        refresh = Refresh(repo, not no_refresh)
        refresh.build_missing(build)
        try:
            function(*arguments, repo=repo, refresh=refresh, **options)
        finally:
            with contextlib.suppress(AssayError, OSError):  # of the question itself, which is being reported
                refresh.leave_rest()

    return opened


def find_repository(path: Path | None) -> Path:
    """Like `find_root`, but raises AssayError rather than default to the home directory or a file system root."""
    root = find_root(path)
    if path is None and root in (Path.home().resolve(), Path(root.anchor)) and not (root / ".git").exists():
        raise AssayError(f"{root} is not a repository: run this command inside one, or pass --root DIR")
    return root


# a process that answers many commands (`assay.serve.local`) keeps its repository open
open_one: Callable[[Path, Path | None], Repository] = Repository


def open_repository(
    paths: Sequence[str], index_dir: Path | None, find: Callable[[Path | None], Path] = find_root
) -> Repository:
    """Open the named repository, several as a workspace, or the workspace or repository around the current folder."""
    folders = [Path(path) for path in paths]
    workspace = workspace_around(Path.cwd()) if not folders else None
    if len(folders) == 1 and folders[0].is_dir() and workspace_around(folders[0].resolve()) == folders[0].resolve():
        workspace = folders[0].resolve()
    if workspace is None and len(folders) < 2 and not (folders and "=" in paths[0] and not folders[0].exists()):
        return open_one(find(folders[0] if folders else None), index_dir)
    if index_dir:
        raise AssayError(
            "--index-dir works with a single repository only; in a workspace each keeps its index in its own .assay/"
        )
    return Workspace.at(workspace) if workspace else Workspace(parse_roots(paths))


def _confirm_build(root: Path) -> bool:
    """Ask whether to build a missing index; False without a terminal."""
    return _is_terminal() and confirm(f"{root}: no index yet. Build it now?", default=True)


def _should_build(root: Path) -> bool:
    is_repository = any((root / name).exists() for name in (".git", "assay.toml"))
    return is_repository or not _is_terminal() or _confirm_build(root)


def may_index(repo: Repository) -> bool:
    """Ask before indexing a home directory or file system root for the first time; return True if confirmed."""
    try:
        if repo.home.named() is None:
            check_extent(repo.root)
    except TooWide as error:
        return _is_terminal() and confirm(error.question, default=False)
    return False


def _is_terminal() -> bool:
    return all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )  # None: closed by the caller


def _build(repo: Repository, prefix: str, wait: bool = True) -> None:
    anywhere = may_index(repo)
    with Bar() as bar:
        report = repo.refresh(progress=bar, anywhere=anywhere, wait=wait)
    if report.mode != "fresh":
        echo(f"{prefix}indexed {counted(report.files, 'file')} in {report.seconds:.1f} s", err=True)
    if report.problems:
        echo(f"{prefix}{len(report.problems)} files could not be read; assay index -v lists them", err=True)


# One screen of a terminal


class View:
    """Output of an answer: one screen of a terminal, or the whole answer."""

    page = staticmethod(page)

    def __init__(self, whole: bool, paged: bool) -> None:
        self._paged = paged and is_terminal()
        self.screen = Size(*shutil.get_terminal_size()) if is_terminal() and not whole else None

    def show(self, text: str) -> None:
        """Print a text; through a pager if it is longer than the terminal."""
        is_long = text.count("\n") >= shutil.get_terminal_size().lines
        (self.page if self._paged and is_long else echo_text)(text)


def screen_options(*whole: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add --full and --no-pager, passed as `view`. An explicit --format, or one of `whole`, asks for the whole answer."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @click.option("--full", is_flag=True, help="In a terminal: the whole answer in a pager, not one screen.")
        @click.option("--no-pager", is_flag=True, help="Print directly, without the pager ($PAGER, by default less).")
        @functools.wraps(function)
        def viewed(*arguments: Any, full: bool, no_pager: bool, **options: Any) -> None:
            source = click.get_current_context().get_parameter_source
            explicit = [name for name in ("form", *whole) if source(name) == ParameterSource.COMMANDLINE]
            view = View(full or bool(explicit), not no_pager and "form" not in explicit)
            function(*arguments, view=view, **options)

        return viewed

    return add


# Numbers and servers


def limit_option(default: int, what: str) -> Callable[[F], F]:
    return click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help=f"Maximum number of {what}.",
    )


def depth_option(default: int) -> Callable[[F], F]:
    return click.option(
        "--depth",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        help="Maximum number of steps to follow.",
    )


def server_options(note: str = "") -> Callable[[F], F]:
    """Return the options --host, --token and --no-watch of a server; `note` says when the first two apply."""

    def add(function: F) -> F:
        function = click.option(
            "--no-watch", is_flag=True, help="Do not watch files; the index is updated once at start."
        )(function)
        function = click.option(
            "--tokens",
            "tokens_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            is_flag=False,
            flag_value=Path(),
            help=f"Require personal tokens{note}, as `assay token create` makes them. Default FILE: the user's own.",
        )(function)
        function = click.option(
            "--audit",
            "audit_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=f"Append who asked what endpoint{note}, as JSON lines, never the text of a question. Refused requests of "
            "strangers are in FILE.refused.",
        )(function)
        function = click.option(
            "--token",
            envvar="ASSAY_TOKEN",
            default="",
            help=f"Required access token{note}. Prefer ASSAY_TOKEN: other users of the machine can read the "
            "command line.",
        )(function)
        return click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help=f"Address to listen on{note}. Any but loopback requires a token.",
        )(function)

    return add


# Ranking options


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        "profile_name",
        metavar="NAME",
        help=f"Ranking profile: {', '.join(PROFILES)}, or one defined in assay.toml. Default: {DEFAULT}.",
    )(function)


def session_option(function: F) -> F:
    return click.option(
        "--session",
        default="",
        metavar="NAME",
        help="Session name: items recently shown in a session rank higher in it.",
    )(function)


# Search filters


_GROUPS = ("code", "docs", "all")  # values of --kind that stand for several kinds


def filter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add --path, --language, --kind, --since, --documents-only and --code-only, passed as `filters`."""

    @click.option(
        "--path",
        "paths",
        multiple=True,
        metavar="GLOB",
        help="Only files that match: docs/, '*.md', src/app.py. May be repeated.",
    )
    @click.option(
        "--language",
        "languages",
        multiple=True,
        metavar="NAME",
        help="Only this language or document format: python, markdown, pdf, … May be repeated.",
    )
    @click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice([*_GROUPS, "passage", *sorted(KINDS)]),
        metavar="KIND",
        help="Only code, only docs, or all; or one kind: passage, file, function, class, … May be repeated.",
    )
    @click.option(
        "--since",
        metavar="WHEN",
        help="Only files changed since a date (2026-11-01) or a commit (v1.2), committed or not.",
    )
    @click.option("--documents-only", is_flag=True, help="Only passages of documents.")
    @click.option("--code-only", is_flag=True, help="Only definitions of code.")
    @functools.wraps(function)
    def with_filters(
        *arguments: Any,
        paths: tuple[str, ...],
        languages: tuple[str, ...],
        kinds: tuple[str, ...],
        since: str | None,
        documents_only: bool,
        code_only: bool,
        **options: Any,
    ) -> None:
        if documents_only and code_only:
            raise AssayError("--documents-only and --code-only exclude each other")
        groups, single = set(kinds) & set(_GROUPS), tuple(kind for kind in kinds if kind not in _GROUPS)
        everything = not groups or "all" in groups or {"code", "docs"} <= groups
        filters = SearchFilters(
            paths=paths,
            languages=languages,
            kinds=single,
            since=since,
            documents=not code_only and (everything or "docs" in groups),
            code=not documents_only and (everything or "code" in groups),
        )
        function(*arguments, filters=filters, **options)

    return with_filters
