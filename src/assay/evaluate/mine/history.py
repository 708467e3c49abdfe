"""Queries from commits: the message asks, the symbols its diff touches answer, as they stood before the commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from assay.core.golden import Expected, GoldenQuery
from assay.core.outline import Outline
from assay.evaluate.mine import message
from assay.evaluate.mine.definitions import Definition, Locator
from assay.evaluate.mine.git import repository as repository_at
from assay.evaluate.mine.log import Change, Commit, commits, count
from assay.evaluate.mine.mined import LeftOut, Mined, Options, Progress
from assay.evaluate.mine.paths import role, tier
from assay.evaluate.mine.reasons import reason_against
from assay.git import Blobs
from assay.patches import Hunk

ID_LENGTH = 12  # of a commit's hash: unique in any history, and not a matter of git's settings
_REMEMBERED = 256  # outlines: branches share parents


def mine_history(
    repository: Path, locate: Locator, options: Options | None = None, progress: Progress | None = None
) -> Mined:
    """The queries of a repository's commits, newest first, and why the other commits make none."""
    git, options = repository_at(repository), options or Options()
    queries: list[GoldenQuery] = []
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    if progress:
        progress.start("mining", count(git, options))
    with git.blobs() as blobs, closing(commits(git, options)) as newest_first:
        parents = _Parents(locate, blobs)
        for commit in newest_first:
            if progress:
                progress.advance()
            try:
                query = _query(commit, parents, options)
                message.require_new(query.text, seen)
            except LeftOut as reason:
                counts[str(reason)] += 1
                continue
            queries.append(query)
            if len(queries) == options.limit:
                break
    shallow = f"{repository} is a shallow clone: older commits are missing (git fetch --unshallow brings them)"
    return Mined(queries, dict(sorted(counts.items())), [shallow] if git.shallow else [])


class _Parents:
    """Outlines of files as the parents of commits have them."""

    def __init__(self, locate: Locator, blobs: Blobs) -> None:
        self._locate, self._blobs = locate, blobs
        self.outline = lru_cache(_REMEMBERED)(self._outline)

    def _outline(self, path: str, blob: str) -> Outline[Definition]:
        return Outline(self._locate(path, self._blobs.text(blob)))


def _query(commit: Commit, parents: _Parents, options: Options) -> GoldenQuery:
    """The query a commit makes."""
    text = _text(commit, options)
    changes = _changes(commit, options)
    outlines = {change.path: parents.outline(change.path, change.old_blob) for change in changes}
    changes = [change for change in changes if outlines[change.path]]
    if not changes:
        raise LeftOut("no source code")
    touched = [found for change in changes for found in outlines[change.path].touched(_places(change))]
    symbols = _gold(touched, options)
    files = [change.path for change in changes]
    if options.strip_names:
        text = message.without_names(text, symbols, files)
        message.require_words(text, options.min_words)
    return GoldenQuery(
        id=commit.sha[:ID_LENGTH],
        text=text,
        expected=(*(Expected(name) for name in symbols), *(Expected(path, "file") for path in files)),
        tier=tier(files),
        category="history",
        tags=tuple(sorted({found.language for found in touched if found.symbol in symbols and found.language})),
        notes=commit.date,
        commit=commit.sha,
    )


def _text(commit: Commit, options: Options) -> str:
    """The message without what is not asked for."""
    if reason := reason_against(commit, options.include_tests):
        raise LeftOut(reason)
    text = commit.message if options.keep_trailers else message.without_trailers(commit.message)
    if options.strip_ids:
        text = message.without_ids(text)
    message.require_words(text, options.min_words)
    return text


def _changes(commit: Commit, options: Options) -> list[Change]:
    """The changes to what may be source files of the parent, by path."""
    written = [(change, role(change.path)) for change in commit.changes]
    written = [(change, what) for change, what in written if what != "vendored"]
    if not written:
        raise LeftOut("vendored or generated" if commit.changes else "empty")
    if len(written) > options.max_files:
        raise LeftOut("bulk")
    wanted = ("source", "test") if options.include_tests else ("source",)
    source = [change for change, what in written if what in wanted]
    if not source:
        raise LeftOut("tests only" if any(what == "test" for _, what in written) else "no source code")
    existing = [change for change in source if change.old_blob]
    if not existing:
        raise LeftOut("pure addition")
    telling = [change for change in existing if _telling(change)]
    if not telling:
        raise LeftOut("formatting" if any(change.hunks for change in existing) else "renamed only")
    return sorted(telling, key=lambda change: change.path)


def _telling(change: Change) -> list[Hunk]:
    return [hunk for hunk in change.hunks if not hunk.formatting]


def _places(change: Change) -> Iterator[tuple[int, int]]:
    return (place for hunk in _telling(change) for place in hunk.places())


def _gold(touched: list[Definition], options: Options) -> list[str]:
    """The symbols that should be found, once each."""
    wanted = [found for found in touched if options.include_tests or not found.test]
    if not wanted:
        raise LeftOut("tests only" if touched else "pure addition")
    symbols = list(dict.fromkeys(found.symbol for found in wanted))
    if len(symbols) > options.max_symbols:
        raise LeftOut("bulk")
    return symbols
