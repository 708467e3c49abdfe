"""Sanity checks of a run: leaks, a stale index, and results that the matcher can never match.

A table of zeros, or of ones, that is due to such a trap looks like a finding. `validity` reports them with the run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from assay.core.cautions import Caution
from assay.core.golden import GoldenQuery, GoldenSet, Hit, Response
from assay.errors import AssayError
from assay.evaluate.matching import Matcher, default_for, has_file_suffix, path_in
from assay.evaluate.systems import System
from assay.git import Git

_LISTED = 3  # examples in a message


# leaks and staleness: known before the first query is sent


def before_run(golden: GoldenSet, system: System, root: Path, corpus: str) -> list[Caution]:
    """Return the cautions on a golden set and the state of what is searched."""
    checks = (_golden_in_corpus, _mined_from_searched, _stale_index, _other_commit)
    folder = Path(corpus) if corpus else None
    return [caution for check in checks for caution in check(golden, system, root, folder)]


def _golden_in_corpus(golden: GoldenSet, system: System, root: Path, corpus: Path | None) -> list[Caution]:
    if not system.holds(Path(golden.path).resolve()):
        return []
    return [
        Caution(
            "golden-in-corpus",
            f"the golden set {golden.path} lies inside the searched corpus: its own text may be retrieved",
        )
    ]


def _mined_from_searched(golden: GoldenSet, system: System, root: Path, corpus: Path | None) -> list[Caution]:
    """Return a caution when queries are commit messages and the searched history or files have those commits."""
    commits: dict[str, list[str]] = {}
    for query in golden.queries:
        if query.commit and query.category == "history":
            commits.setdefault(query.repository, []).append(query.commit)
    total = len(golden.queries)
    remembered = sum(len(system.searched_commits(mined, repository)) for repository, mined in commits.items())
    if remembered:
        return [
            Caution(
                "mined-history",
                f"{remembered} of {total} queries are messages of commits in the searched history, which names their answers; "
                "search without history (--system assay:no-history), or index the state before those commits",
            )
        ]
    if not system.reads_folder:
        return []
    applied = sum(
        _is_applied(commit, corpus / repository if corpus and repository else root)
        for repository, mined in commits.items()
        for commit in mined[:_LISTED]
    )
    if not applied:
        return []
    return [
        Caution(
            "mined-state",
            "the searched files already hold the changes of the commits this set was mined from, whose words they repeat; "
            "search the state before them (docs/guides/mining.md, Leakage)",
        )
    ]


def _is_applied(commit: str, root: Path) -> bool:
    """Return True when HEAD of a folder's repository has the commit; False when that cannot be told."""
    try:
        git = Git(root)
        sha = git.revision(commit)
        return sha is not None and git.ask("merge-base", sha, "HEAD") == sha
    except AssayError:
        return False


def _stale_index(golden: GoldenSet, system: System, root: Path, corpus: Path | None) -> list[Caution]:
    repositories = dict.fromkeys(query.repository for query in golden.queries) if corpus else {"": None}
    stale = {name: message for name in repositories if (message := system.stale(name))}
    if not stale:
        return []
    named = ", ".join(f"{name}: {message}" if name else message for name, message in list(stale.items())[:_LISTED])
    return [
        Caution(
            "stale-index", f"the index is older than the files ({named}); `assay eval run --index` updates it first"
        )
    ]


def _other_commit(golden: GoldenSet, system: System, root: Path, corpus: Path | None) -> list[Caution]:
    """Return a caution when the set was written for one commit and another one is checked out."""
    if not system.reads_folder:
        return []
    cautions = []
    for repository, pinned in _pinned_commits(golden.queries).items():
        try:
            head = Git(corpus / repository if corpus and repository else root).revision("HEAD")
        except AssayError:
            continue
        if head and not head.startswith(pinned) and not pinned.startswith(head):
            name = f" of {repository}" if repository else ""
            message = (
                f"the set was written for commit {pinned[:12]}{name}, the run is on {head[:12]}: names may have moved"
            )
            cautions.append(Caution("other-commit", message))
    return cautions


def _pinned_commits(queries: Sequence[GoldenQuery]) -> dict[str, str]:
    """Return the commit of each repository whose queries all name the same one; mined queries name their own."""
    commits: dict[str, set[str]] = {}
    for query in queries:
        if query.category != "history":
            commits.setdefault(query.repository, set()).add(query.commit)
    return {name: next(iter(named)) for name, named in commits.items() if len(named) == 1 and named != {""}}


def golden_retrieved(
    golden: GoldenSet, responses: Sequence[Response], root: Path = Path(), corpus: str = ""
) -> list[Caution]:
    """Return a caution when the golden set's own files are among the results.

    Paths of results are relative to the root, to a repository of the corpus, or to the current folder.
    """
    own = os.path.realpath(golden.path)
    folders = [root, Path.cwd()]
    folders += [Path(corpus, name) for name in {query.repository for query in golden.queries} if corpus]
    bases = [os.path.realpath(folder) for folder in folders]
    paths = sorted({hit.path for response in responses for hit in response.hits if os.path.basename(own) in hit.path})
    places = ((path, Path(os.path.normpath(os.path.join(base, path)))) for path in paths for base in bases)
    retrieved = dict.fromkeys(path for path, place in places if place.is_relative_to(own))
    if not retrieved:
        return []
    named = ", ".join(list(retrieved)[:_LISTED])
    message = f"the golden set itself is among the results ({named}): keep it out of what is searched"
    return [Caution("golden-retrieved", message)]


# results that the matcher can never match

RESULTS_LOOKED_AT = 5  # non-empty result lists without a match before their shape is looked at


class WrongShape(AssayError):
    """Results without the names that the matcher judges."""


def require_names(golden: GoldenSet, matcher: Matcher, level: str, hits: Sequence[Hit]) -> None:
    """Raise WrongShape when no result of several lists has what expectations of this level are matched by.

    `hits` are the results of queries for which nothing matched.
    """
    if level == "chunk":
        _require_chunk_ids(golden, hits)
    if not hits or not _lack(level, hits):
        return
    carried = "files" if level == "symbol" else "symbols" if level == "file" else "no lines"
    examples = ", ".join(dict.fromkeys(hit.id for hit in hits[: _LISTED * 2]))
    others = [name for name in golden.levels if name != level and not _lack(name, hits)]
    if others:
        chosen = default_for(golden, tuple(others))
        advice = f"judge what the results have: --matching {chosen.name}"
    else:
        advice = _ADVICE[level]
    raise WrongShape(
        f"nothing can match: matching '{matcher.name}' judges {level} expectations, but the results have {carried} only "
        f"({examples}). To fix it, {advice}"
    )


def _require_chunk_ids(golden: GoldenSet, hits: Sequence[Hit]) -> None:
    """Raise WrongShape when the set expects numbered chunks and the results have other ids, or the reverse."""
    expected = [item.name for query in golden.queries for item in query.at("chunk")]
    shapes = [{name.isdecimal() for name in names} for names in (expected, [hit.id for hit in hits])]
    if {True} in shapes and {False} in shapes:
        raise WrongShape(
            f"nothing can match: the set expects chunks like '{expected[0]}', the results have ids like '{hits[0].id}'. "
            "They are chunks of another system; `assay eval chunks` lists those of this index, to pick from"
        )


_ADVICE = {
    "symbol": "return `symbol` names (or path::symbol), or expect files (`expected_files`) and use --matching file",
    "file": "return a `path` with every result, or expect symbols (`expected_symbols`) and use --matching strict",
    "span": "return `start` and `end` lines (or a `page`) with every result, or expect documents and use --matching doc",
}


def _lack(level: str, hits: Sequence[Hit]) -> bool:
    """Return True when results have nothing that an expectation of the level could be matched by."""
    if level == "symbol":  # a name without path may be a symbol, unless most of the others are files
        files = sum(bool(path_in(hit.id) or has_file_suffix(hit.path or hit.id)) for hit in hits)
        return not any(hit.symbol for hit in hits) and files * 2 >= len(hits)
    if level == "file":
        return all(hit.symbol and not (hit.path or hit.doc or path_in(hit.id) or "/" in hit.id) for hit in hits)
    return level == "span" and not any(hit.end or hit.page for hit in hits)
