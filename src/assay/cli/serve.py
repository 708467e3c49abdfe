"""Commands for servers: serve (web), repositories, mcp (agents), token (access of a team), init (clients)."""

from __future__ import annotations

import difflib
import shutil
import sys
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import click

from assay.api import Repository, Workspace
from assay.cli.common import STORE, echo, echo_row, find_root, format_option, print_json
from assay.cli.options import find_repository, open_repository, root_option, roots_options, server_options
from assay.config import user
from assay.config.roots import Root, workspace_around
from assay.config.roots import roots as parse_roots
from assay.database.address import configured_store
from assay.errors import AssayError, install
from assay.serve.access import Access, listen
from assay.serve.mcp.clients import CLIENTS, Change, Client, plan, write
from assay.serve.mcp.conversation import UsageLog
from assay.serve.registry import Registry
from assay.serve.telemetry import AuditLog
from assay.serve.tokens import ROLES, Tokens
from assay.serve.watch import resident_of
from assay.serve.watch.first_look import FirstLook
from assay.system.files import FOLDER
from assay.system.programs import find_program
from assay.text.display import counted


@click.command("serve")
@roots_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7070, show_default=True, help="Port; 0 for any free one."
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Additional accepted Host name, for use behind a proxy. May be repeated.",
)
@click.option(
    "--runs",
    "runs_store",
    type=STORE,
    metavar="STORE",
    help="Run store: a file, or postgresql://…. Default: ASSAY_STORE, the user's configuration, or .assay/runs.db at the "
    "root; for several repositories, in the workspace folder.",
)
@click.option(
    "--registered",
    is_flag=True,
    help="Serve the repositories that `assay repositories add` or an administrator's request registered, also while "
    "it runs.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Answer in N processes that share one port; a crashed one is started again, and SIGHUP replaces them one by "
    "one. Linux and macOS. Default: in this process.",
)
@server_options()
def serve_command(
    roots: tuple[str, ...],
    index_dir: Path | None,
    host: str,
    port: int,
    token: str,
    tokens_file: Path | None,
    audit_file: Path | None,
    names: tuple[str, ...],
    runs_store: Path | str | None,
    registered: bool,
    workers: int | None,
    no_watch: bool,
) -> None:
    """Serve search, explanations, runs, comparisons and sweeps as web pages and an HTTP API (/openapi.json).

    Listens on loopback only unless --host is set. Stop it with Ctrl-C. For a team: `assay token`, docs/guides/team.md.
    """
    try:
        from assay.serve.workers.plan import Plan, Reread, serve_alone
        from assay.serve.workers.supervisor import Supervisor
    except ImportError as error:
        raise AssayError(f"assay serve needs {error.name}: {install('web')}") from None

    access = Access(host, token, frozenset(name.lower() for name in names), _tokens(tokens_file))
    if registered and (roots or index_dir):
        raise AssayError(
            "--registered serves the repositories of `assay repositories`; leave out --root and --index-dir"
        )
    registry = Registry() if registered else None
    repo = None if registry else open_repository(roots, index_dir)
    if repo:
        repo.check_servable()
        repo.ignored_settings  # noqa: B018 (warns now, not with the first request)
    shown = repo.members.values() if repo else ()

    def reread() -> Reread:
        address = runs_store or configured_store() or ""
        return Reread("" if isinstance(address, Path) else address, user.allowed_folders(user.read()))

    store = runs_store or configured_store()
    runs_file = store if isinstance(store, Path) else _runs_folder(repo) / FOLDER / "runs.db"
    plan = Plan(
        access,
        _served(repo, registry),
        index_dir,
        repo.folder if isinstance(repo, Workspace) else None,
        not no_watch,
        runs_file,
        audit_file,
        registry,
        reread,
    )
    listening = listen(host, port)
    where = ", ".join(str(member.root) for member in shown) or f"{len(plan.roots)} registered repositories"
    by = f" with {counted(workers, 'worker')}" if workers else ""
    with closing(listening):
        server = Supervisor(plan, listening, workers, _say) if workers else None
        echo(f"serving {where} at http://{access.shown}:{listening.getsockname()[1]}{by} (Ctrl-C stops it)")
        if server:
            server.run()
        else:
            serve_alone(plan, listening, _say)


def _say(line: str) -> None:
    echo(f"assay: {line}", err=True)


def _served(repo: Repository | None, registry: Registry | None) -> list[Root]:
    """Return what is served at first, labelled; a single repository has the label ""."""
    if registry:
        usable, problems = registry.usable()
        for problem in problems:
            _say(problem)
        return usable
    assert repo
    return [Root(label, member.root) for label, member in repo.members.items()]


def _tokens(file: Path | None) -> Tokens | None:
    """Return the tokens of --tokens; without a value, those of the user's configuration folder."""
    if file is None:
        return None
    tokens = Tokens(None if file == Path() else file)
    if not tokens.all():
        raise AssayError(f"{tokens.path}: no tokens yet, so nobody could ask. Make one with: assay token create NAME")
    return tokens


def _runs_folder(repo: Repository | None) -> Path:
    """Return the folder of the run store: the root, the workspace folder, or the default root of `assay eval`."""
    folder = repo.folder if isinstance(repo, Workspace) else repo.root if repo else None
    return folder or find_root(None)


# assay repositories


@click.group("repositories")
def repositories_command() -> None:
    """Register repositories with `assay serve --registered`, which serves them at once and after a restart."""


@repositories_command.command("add")
@click.argument("dir", metavar="[LABEL=]DIR")
def repositories_add_command(dir: str) -> None:
    """Register the repository in DIR; its paths begin with LABEL, by default the name of the folder.

    A running server builds its index if there is none.
    """
    [root] = parse_roots([dir])
    added = Registry().add(str(root.path), root.label)
    echo(f"registered {added.path} as {added.label}")


@repositories_command.command("remove")
@click.argument("label")
def repositories_remove_command(label: str) -> None:
    """Unregister the repository with this LABEL, or this path. Its index stays."""
    removed = Registry().remove(label)
    echo(f"unregistered {removed.label} ({removed.path})")


@repositories_command.command("list")
@format_option
def repositories_list_command(form: str) -> None:
    """List the registered repositories."""
    registry = Registry()
    if form == "json":
        rows = [{"repository": root.label, "root": str(root.path)} for root in registry.all()]
        print_json({"repositories": rows, "allowed": list(map(str, user.allowed_folders(user.read())))})
        return
    for root in registry.all():
        echo_row(f"{root.label}  {root.path}{'' if root.path.is_dir() else '  (no such folder)'}")
    if not registry.all():
        echo("no repositories are registered; register one with: assay repositories add DIR")


# assay mcp


@click.command("mcp")
@roots_options
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve over HTTP on this port instead of stdio; 0 for any free one.",
)
@server_options(" with --http")
@click.option("--no-learning", is_flag=True, help="Record no usage and accept no feedback.")
def mcp_command(
    roots: tuple[str, ...],
    index_dir: Path | None,
    port: int | None,
    host: str,
    token: str,
    tokens_file: Path | None,
    audit_file: Path | None,
    no_watch: bool,
    no_learning: bool,
) -> None:
    """Serve agents over the Model Context Protocol: stdin and stdout, or HTTP.

    Without an index it answers by text search while the index is built. `assay init` configures agents to use it.
    """
    repo = open_repository(roots, index_dir, find_repository)
    repo.check_servable()
    if find_spec("mcp") is None:
        raise AssayError(f"serving agents needs the package mcp: {install('mcp')}")
    access = Access(host, token, tokens=_tokens(tokens_file))
    listening = listen(host, port) if port is not None else None
    with resident_of(repo, index_dir, not no_watch) as resident, UsageLog(resident, not no_learning) as notes:
        first = FirstLook({label: member.root for label, member in repo.members.items()})
        if not resident.wait(0):
            first.begin()
        from assay.serve.mcp.server import (  # takes a second, during which indexing starts
            McpServer,
            serve_http,
            serve_stdio,
        )

        serving = McpServer(resident, first, notes)
        if listening is None:
            serve_stdio(serving)
        else:
            role = "read" if no_learning else "write"  # usage is recorded
            serve_http(serving, access, listening, role, AuditLog(audit_file) if audit_file else None)


# assay token


@click.group("token")
def token_command() -> None:
    """Create, list and revoke personal tokens for `assay serve --tokens` and `assay mcp --http PORT --tokens`."""


_tokens_option = click.option(
    "--tokens",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of tokens. Default: tokens.json in the user's configuration folder.",
)


@token_command.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="read", show_default=True, help="What the token allows.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="Days until it expires. Default: never.")
@_tokens_option
def token_create_command(name: str, role: str, days: float | None, file: Path | None) -> None:
    """Make a token for NAME, a person or a program, and print it once: only a digest is stored.

    Roles: read asks, write also records feedback of agents, admin also sees the audit log and updates the index.
    """
    echo(Tokens(file).create(name, role, days))
    echo(f"role {role}; send it as: Authorization: Bearer TOKEN. It is not shown again.", err=True)


@token_command.command("list")
@_tokens_option
@format_option
def token_list_command(file: Path | None, form: str) -> None:
    """List the tokens: id, name, role, when they were made and when they expire."""
    tokens = Tokens(file).all()
    if form == "json":
        fields = ("id", "name", "role", "created", "expires")
        print_json({"tokens": [{name: getattr(token, name) for name in fields} for token in tokens]})
        return
    for token in tokens:
        expires = f"expires {_day(token.expires)}" if token.expires else "does not expire"
        state = "" if token.is_valid(time.time()) else " (expired)"
        echo_row(f"{token.id}  {token.role:<5}  {token.name}  made {_day(token.created)}, {expires}{state}")
    if not tokens:
        echo("no tokens; make one with: assay token create NAME")


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


@token_command.command("revoke")
@click.argument("token")
@_tokens_option
def token_revoke_command(token: str, file: Path | None) -> None:
    """Revoke TOKEN, given by its name or id. Running servers refuse it from the next request on."""
    revoked = Tokens(file).revoke(token)
    echo(f"revoked the token of {revoked.name} ({revoked.id}, role {revoked.role})")


# assay init


@click.command("init")
@root_option()
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Client to configure. May be repeated. Default: all; those configured in your home only if installed.",
)
@click.option("--print", "only_show", is_flag=True, help="Print what would be written; write nothing.")
def init_command(root: Path | None, names: tuple[str, ...], only_show: bool) -> None:
    """Add `assay mcp` to the configuration of agents and editors.

    Claude Code (.mcp.json), Cursor (.cursor/mcp.json), VS Code (.vscode/mcp.json), Codex (~/.codex/config.toml),
    Zed (~/.config/zed/settings.json). Everything else in these files, comments included, and an existing entry are kept.
    Exit code 1 when a file could not be changed.
    """
    where = (None if root else workspace_around(Path.cwd())) or find_repository(root)
    Repository(where).check_folder()
    command = _start_command()
    failed = False
    for client in [CLIENTS[name] for name in dict.fromkeys(names)] or list(CLIENTS.values()):
        if not names and not _is_installed(client, where):
            echo(f"{client.title}: not installed; use --client {client.name} to configure it anyway")
            continue
        try:
            _apply_change(plan(client, where, command), only_show)
        except AssayError as error:
            failed = True
            echo(f"{client.title}: {error}", err=True)
    if command[0] == sys.executable:
        echo(
            f"note: assay is not on the PATH, so the entries name {sys.executable}, "
            "which differs for other users of this repository",
            err=True,
        )
    raise click.exceptions.Exit(1 if failed else 0)


def _start_command() -> list[str]:
    """Return the command that clients use to start assay."""
    by_name = shutil.which("assay")
    ours = str(Path(sys.executable).with_name("assay"))  # of this environment, even if it is inside the repository
    if by_name and by_name in (ours, find_program("assay")):
        return ["assay"]
    return [sys.executable, "-P", "-m", "assay"]  # -P: import no modules from the repository


def _is_installed(client: Client, root: Path) -> bool:
    """Return True for files shared in the repository, and for clients with a folder in the home directory."""
    return client.shared or client.path(root).parent.is_dir()


def _apply_change(change: Change, only_show: bool) -> None:
    if not change.needed:
        echo(f"{change.client.title}: {change.path} already has assay")
        return
    if not only_show:
        write(change)
    echo(f"{change.client.title}: {'would write' if only_show else 'wrote'} {change.path}")
    for line in difflib.ndiff(change.before.splitlines(), change.after.splitlines()):
        if line.startswith("+ "):
            echo(f"    {line[2:]}")
