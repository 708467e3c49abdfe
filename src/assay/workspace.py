"""Several repositories asked as one: one question, one ranking over all, every result with the label of its repository.

    with assay.open_all(["api", "web", "docs=handbook"], index=True) as workspace:
        print(workspace.context("how are sessions signed", budget=20_000).render("markdown"))

Each keeps its own index. To whatever ranks they are one (store/several), so what is rare and what is best is so among all of them.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.items import Item
from assay.core.learned import Learned
from assay.errors import AssayError
from assay.ingest.freshness import Freshness, Look
from assay.repository import Repository
from assay.retrieve.configuration import Configuration, load
from assay.roots import Root, listed, roots, roots_of
from assay.store.several import Several

if TYPE_CHECKING:
    from assay.ingest.report import Progress, Report
    from assay.retrieve.configuration import SearchSettings
    from assay.searching import Searcher


def open_all(paths: Iterable[str | Path], *, index: bool = False) -> Workspace:
    """The repositories at `paths` (`label=path` names one) as one. `index` brings their indexes up to date first, or builds them."""
    workspace = Workspace(roots(paths))
    if index:
        workspace.refresh_all()
    workspace.index  # noqa: B018 (raises NoIndex when one has none)
    return workspace


class Workspace(Repository):
    """Repositories by label, asked as one. What is asked of one at a time (a review, feedback) is asked of its `members`.

    `folder` is the one whose assay.toml names them, and settles what is asked; without one everything has its default.
    """

    def __init__(
        self, found: Sequence[Root], folder: Path | None = None, members: Mapping[str, Repository] | None = None
    ) -> None:
        if not found:
            raise AssayError("no repositories: name their folders")
        self.folder = folder
        self._roots = sorted(found, key=lambda root: root.label)
        self._members = dict(members) if members else {root.label: Repository(root.path) for root in self._roots}
        self._several: Several | None = None
        self._engines, self._searchers = {}, {}

    @classmethod
    def at(cls, folder: Path) -> Workspace:
        """The workspace that the assay.toml of a folder describes."""
        return cls(roots_of(folder), folder)

    def __repr__(self) -> str:
        return f"<Workspace {', '.join(self._members)}>"

    @property
    def roots(self) -> Sequence[Root]:
        return self._roots

    @property
    def members(self) -> Mapping[str, Repository]:
        return self._members

    def only(self, what: str) -> Repository:
        raise AssayError(f"{what} is about one repository; name it with --root: {listed(self._roots)}")

    @property
    def root(self) -> Path:  # type: ignore[override]
        return self.only("this").root

    def close(self) -> None:
        for member in self._members.values():
            member.close()
        self._several, self._engines, self._searchers = None, {}, {}

    @property
    def index(self) -> Several:
        """All indexes as one. Raises NoIndex when one of them is missing."""
        if self._several is None:
            self._several = Several({label: member.index for label, member in self._members.items()})
        return self._several

    @cached_property
    def configuration(self) -> Configuration:
        """What the workspace's own assay.toml says, or the user alone without one.

        With the classes of all repositories: they speak of names in their code.
        """
        own = load(self.folder)
        inside = [one for label, one in self._members.items() if one.root != self.folder]
        return replace(own, classes=(*own.classes, *(one for member in inside for one in member.configuration.classes)))

    def refresh_all(self, *, rebuild: bool = False, progress: Progress | None = None) -> dict[str, Report]:
        """Brings every index up to date, and says of each what was done."""
        done = {label: one.refresh(rebuild=rebuild, progress=progress) for label, one in self._members.items()}
        self.close()
        self.__dict__.pop("configuration", None)
        return done

    def refresh(self, *, rebuild: bool = False, progress: Progress | None = None, anywhere: bool = False) -> Report:
        return self.only("refresh; refresh_all is about all of them: refresh").refresh()

    # tasks

    def learned(self, task: str, session: str = "") -> Learned:
        told = [(part.first, self._members[part.label].learned(task, session)) for part in self.index.parts]
        vocabulary = [replace(one, number=one.number + first) for first, known in told for one in known.vocabulary]
        return Learned(
            {number + first: value for first, known in told for number, value in known.feedback.items()},
            {number + first: value for first, known in told for number, value in known.session.items()},
            tuple(sorted(vocabulary, key=lambda one: (-one.weight, one.number))),
        )

    def note_given(self, items: Sequence[Item], task: str, session: str) -> None:
        for label, own in self.own(items).items():
            self._members[label].note_given(own, task, session)

    def own(self, items: Iterable[Item]) -> dict[str, list[Item]]:
        """Items as their repositories have them now, by label; what is gone is left out."""
        found: defaultdict[str, list[Item]] = defaultdict(list)
        for item in items:
            one = self._members[item.repository].index.by_id(item.id.removeprefix(f"{item.repository}/"))
            found[item.repository] += [one] if one else []
        return dict(found)

    def paths_of(self, files: Sequence[str]) -> list[str]:
        """Files as `label/path`, as a path in one of the repositories, or relative to the current folder."""
        return list(dict.fromkeys(self._path_of(file) for file in files))

    def _path_of(self, file: str) -> str:
        if file in self.index.files:
            return file
        found, problems = list[str](), list[str]()
        for label, member in self._members.items():
            try:
                found += [f"{label}/{path}" for path in member.paths_of([file.removeprefix(f"{label}/")])]
            except AssayError as error:
                problems.append(str(error))
        if len(found) > 1:
            raise AssayError(f"{file}: in several repositories; name one of {', '.join(found)}")
        if not found:
            raise AssayError(problems[0] if len(problems) == 1 else f"{file}: in none of {listed(self._roots)}")
        return found[0]

    # passages

    def searcher(
        self,
        chunker: str | None = None,
        embedder: str | None = None,
        reranker: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Searcher:
        """What searches the passages of all, as the workspace settles it: so they are divided and embedded alike."""
        from assay.searching import prepare_all

        chosen: SearchSettings = self.configuration.search.but(chunker=chunker, embedder=embedder, reranker=reranker)
        if chosen not in self._searchers:
            places = {label: (one.root, one.home) for label, one in self._members.items()}
            self._searchers[chosen] = prepare_all(self.index, places, chosen, progress, self.folder)
        return self._searchers[chosen]

    def is_searchable(self) -> bool:
        from assay.searching import is_ready

        return all(is_ready(one.home, self.configuration.search) for one in self._members.values())

    def _path_patterns(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Patterns hold for `label/path`, and for the path in every repository."""
        return (*paths, *(f"{label}/{path.removeprefix('./')}" for label in self._members for path in paths))

    def _changed_since(self, when: str, paths: set[str]) -> frozenset[str]:
        own: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            label, _, inside = path.partition("/")
            own[label].add(inside)
        return frozenset(
            f"{label}/{path}"
            for label, member in self._members.items()
            for path in member._changed_since(when, own[label])
        )

    # the indexes themselves

    @property
    def indexing(self) -> str:
        return "assay index" if self.folder else shlex.join(["assay", "index", *(str(one.path) for one in self._roots)])

    def look_ahead(self) -> None:
        for member in self._members.values():
            member.look_ahead()

    def look(self) -> Look:
        return _Looks({label: member.look() for label, member in self._members.items()}, repr(self.configuration.given))


class _Looks(Look):
    """A look at several trees; what changed is named by `label/path`."""

    def __init__(self, looks: Mapping[str, Look], settled: str) -> None:
        self._looks, self._settled = looks, settled
        self.at = min(look.at for look in looks.values())

    @cached_property
    def freshness(self) -> Freshness:
        return Freshness([f"{label}/{path}" for label, look in self._looks.items() for path in look.freshness.stale])

    @cached_property
    def state(self) -> str:
        """Empty while one of them cannot tell."""
        states = [self._settled, *(f"{label} {look.state}" for label, look in self._looks.items() if look.state)]
        return blake2b("\0".join(states).encode(), digest_size=16).hexdigest() if len(states) > len(self._looks) else ""
