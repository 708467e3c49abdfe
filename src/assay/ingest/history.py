"""The history beside an index: brought up to date when HEAD moved. `remember` is the whole story.

A commit's facts never change, so each commit is read once for all worktrees and branches; only which commits lead up to HEAD is asked anew.
"""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError
from assay.git import Git
from assay.ingest import log
from assay.ingest.cache import cache_path
from assay.ingest.commit_cache import CommitCache
from assay.ingest.report import Progress
from assay.ingest.version import history_version
from assay.store import history
from assay.store.history import Commit, Touch
from assay.store.layout import Home

MOST_PATCHES = 2_000  # newest commits whose patches are read: patches cost ten times what the names of files do


def remember(root: Path, home: Home, progress: Progress) -> list[str]:
    """Bring the history up to HEAD and return why that failed. Where there is no history to read, there is none, and that is no failure."""
    path = home.folder / history.NAME
    try:
        git = Git(root)
        place = log.place(git)
        if place is None:
            path.unlink(missing_ok=True)
            return []
        key = f"{place.head} {history_version()} {place.prefix}"
        if history.key_of(path) == key:
            return []
        commits = _commits(git, place, home, progress)
    except AssayError as error:  # git is not there, does not trust the folder, or cannot read its own repository
        return [str(error)]
    history.write(path, key, commits)
    return []


def _commits(git: Git, place: log.Place, home: Home, progress: Progress) -> list[Commit]:
    ids = log.newest(git, place)
    cache = CommitCache(cache_path(git.root, home.folder, "commits.db"))
    try:
        known = cache.commits(ids)
        missing = [one for one in ids if one not in known]
        progress.start("reading history", len(missing))
        fresh = []
        for facts in log.read_commits(git, missing):
            fresh.append(facts)
            progress.advance()
        known |= {facts.id: facts for facts in fresh}
        cache.put_commits(fresh)
        worth = [one for one in ids[:MOST_PATCHES] if one in known and known[one].files]
        names = cache.names(worth)
        read = dict(log.read_names(git, [one for one in worth if one not in names]))
        cache.put_names(read)
    finally:
        cache.close()
    names |= read
    found = (_commit(known[one], names.get(one, {}), place.prefix) for one in ids if one in known)
    return [commit for commit in found if commit.touched]


def _commit(facts: log.CommitFacts, names: log.Names, prefix: str) -> Commit:
    """A commit as the folder at `prefix` sees it."""
    touched = [
        Touch(
            path.removeprefix(prefix),
            before.removeprefix(prefix) if before.startswith(prefix) else "",
            tuple(names.get(path, ())),
        )
        for path, before in facts.files
        if path.startswith(prefix)
    ]
    return Commit(facts.id, facts.time, facts.subject, facts.terms, touched, len(facts.files))
