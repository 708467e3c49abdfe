"""Clones of git addresses: one folder per address, in a cache of the user's, at the commit that was asked for.

    address ── resolve ──▶ commit ── update ──▶ CACHE/repositories/NAME-HASH, a working tree with its history

The commit is resolved once, by the command; every worker clones that commit. A clone that exists is updated, so that
its index is, too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.errors import AssayError
from assay.git import launcher
from assay.git.address import GitAddress

VARIABLE = "ASSAY_CACHE_DIR"
_RESOLVE_SECONDS = 60.0
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = "refs/assay/commit"  # keeps the objects of the present commit
_ATTRIBUTES = "* -filter\n"
_LINE = 300  # characters of a message of a server


class CloneFailed(AssayError):
    """A repository that cannot be cloned."""


def cache_folder() -> Path:
    """Return the folder of all clones, which may not exist."""
    configured = os.environ.get(VARIABLE, "")
    if configured and not os.path.isabs(configured):  # relative to the current folder, it would belong to a repository
        raise AssayError(f"{VARIABLE}={configured}: not an absolute path")
    shared, home = os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~")
    if not configured and os.path.isabs(shared):
        configured = os.path.join(shared, "assay")
    elif not configured and os.path.isabs(home):
        configured = os.path.join(home, ".cache", "assay")
    if not configured:
        raise AssayError(f"no home folder to clone into; set {VARIABLE}")
    return Path(configured) / "repositories"


def resolve(address: GitAddress) -> str:
    """Ask the server for the commit of an address. Raises CloneFailed."""
    if _COMMIT.fullmatch(address.revision):
        return address.revision
    name = address.revision or "HEAD"
    # a tag with an object of its own has its commit under ^{}
    references = [f"refs/tags/{name}^{{}}", f"refs/tags/{name}", f"refs/heads/{name}"] if address.revision else ["HEAD"]
    done = launcher.transfer(Path("/"), ["ls-remote", "--quiet", "--", address.url, *references], _RESOLVE_SECONDS)
    if done.code:
        raise CloneFailed(f"{address.url}: cannot be read ({_message(done.complaint)})")
    commits = {}
    for line in done.output.decode("utf-8", "replace").splitlines():
        commit, _, reference = line.partition("\t")
        commits[reference] = commit
    for reference in references:
        if _COMMIT.fullmatch(commits.get(reference, "")):
            return commits[reference]
    raise CloneFailed(f"{address.url}: no branch, tag or full commit id '{name}'")


def update(address: GitAddress, commit: str, folder: Path) -> None:
    """Bring a clone to a commit, making it if it is missing. Raises CloneFailed; a failed update leaves the old one."""
    if not _COMMIT.fullmatch(commit):
        raise CloneFailed(f"{address.url}: '{commit[:60]}' is no commit id")
    folder.mkdir(parents=True, exist_ok=True)
    _require(address, folder, ["init", "--quiet", *(["--object-format=sha256"] if len(commit) == 64 else [])])
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text(_ATTRIBUTES)
    # --progress: git writes often, and so ends when this process is killed and nobody reads
    fetch = ["fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--force"]
    _require(address, folder, [*fetch, "--", address.url, f"{commit}:{_BRANCH}"])
    _require(address, folder, ["checkout", "--quiet", "--force", "--detach", commit, "--"])


def _require(address: GitAddress, folder: Path, arguments: list[str]) -> None:
    done = launcher.transfer(folder, arguments)
    if done.code:
        raise CloneFailed(f"{address.url}: git {arguments[0]} failed ({_message(done.complaint)})")


def _message(complaint: str) -> str:
    """Return the line of git's complaint that says why."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    chosen = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "no message"
    )
    return chosen.removeprefix("fatal: ").removeprefix("error: ")[:_LINE]
