"""Statements of project files, stored next to the index and read again if one of the files changed."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.owners import PLACES, OwnerRule, parse_rules
from assay.index.scan import Scan
from assay.index.version import statements_version
from assay.store.layout import RACY_SECONDS, Home
from assay.store.links import stated
from assay.store.links.stated import Module, Requirement, Statements
from assay.text.display import printable

if TYPE_CHECKING:
    from assay.index.enrich.sources import Sources

_MOST_ROWS = 100_000  # dependencies or deployments of a repository; they are in memory while an index is open
_MAX_TEXT = 200  # characters of a name or a detail; longer ones are not written by hand


def update_statements(root: Path, home: Home, scanned: Scan, since: int) -> dict[str, str]:
    """Update the stored statements to the current project files; return those that cannot be read, with reasons.

    Entry points depend on which files exist, so a new or removed file counts as a change. `since` is when the scan began.
    """
    path = home.folder / stated.NAME
    if not scanned.project_files:
        path.unlink(missing_ok=True)
        return {}
    key = _key(scanned, since)
    if key and stated.key_of(path) == key:
        return {}
    from assay.index.enrich.sources import Sources  # parsers of YAML and XML, which an unchanged repository needs not

    paths = {*scanned.files, *scanned.configs, *scanned.documents, *scanned.project_files}
    sources = Sources(root, scanned.project_files.keys(), paths)
    stated.write(path, key, read_statements(sources))
    # YAML is left out: templates of charts are not YAML, and are meant to be so
    return {path: why for path, why in sources.problems.items() if not path.endswith((".yml", ".yaml"))}


def _key(scanned: Scan, since: int) -> str:
    """Return a key of the input; empty while a file is too recent for its stat to be reliable."""
    files = scanned.project_files.values()
    if any(file.mtime >= since - RACY_SECONDS * 10**9 for file in files):
        return ""
    digest = blake2b(statements_version().encode(), digest_size=16)
    for names in (scanned.files, scanned.configs, scanned.documents):
        digest.update("\0".join(sorted(names)).encode("utf-8", "surrogatepass") + b"\n")
    for file in sorted(files):
        digest.update(repr(tuple(file)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def read_statements(sources: Sources) -> Statements:
    """Return what the project files state, in an order that depends on content only."""
    from assay.index.enrich.deployments import read_deployments
    from assay.index.enrich.manifests import read_manifests

    manifests = read_manifests(sources)
    modules = {Module(m.path, m.ecosystem, _clean(m.name)) for m in manifests if m.name}
    requirements = {
        Requirement(m.path, d.line, m.ecosystem, _clean(d.name), _clean(d.detail), d.target)
        for m in manifests
        for d in m.dependencies
        if d.name
    }
    deployed = {
        deployment._replace(unit=_clean(deployment.unit), detail=_clean(deployment.detail))
        for deployment in read_deployments(sources, manifests)
    }
    owners_file, rules = read_owners(sources)
    return Statements(
        sorted(modules), sorted(requirements)[:_MOST_ROWS], sorted(deployed)[:_MOST_ROWS], owners_file, rules
    )  # fmt: skip


def _clean(text: str) -> str:
    """Return a text from a project file on one line, without control characters, and of bounded length."""
    line = " ".join(printable(text).split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"


def read_owners(sources: Sources) -> tuple[str, list[OwnerRule]]:
    """Return the path of the CODEOWNERS file that counts and its rules; no path if there is none."""
    path = next((place for place in PLACES if place in sources.project_files), "")
    rules = parse_rules(sources.text(path)) if path else []
    return path, [rule for rule in rules if rule.pattern.isprintable() and rule.section.isprintable()]
