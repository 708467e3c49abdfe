"""Statements of project files, stored next to the index and read again if one of the files changed.

    project files ── in workers with limits ──▶ manifests, owners ──▶ deployments ──▶ Statements ──▶ stated.npz

A file that hangs or crashes its parser costs only itself, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.core.owners import PLACES, OwnerRule, parse_rules
from assay.index.contents import Contents
from assay.index.parse import BATCH_BYTES, describe_failure, worker_count
from assay.index.scan import Scan, ScannedFile
from assay.index.version import statements_version
from assay.store.layout import Home
from assay.store.links import stated
from assay.store.links.stated import Module, Requirement, Statements
from assay.system.pool import Failure, Pool
from assay.text.display import printable

if TYPE_CHECKING:
    from assay.index.enrich.manifests import Manifest
    from assay.index.enrich.sources import Sources

_MOST_ROWS = 100_000  # dependencies or deployments of a repository; they are in memory while an index is open
_MAX_TEXT = 200  # characters of a name or a detail; longer ones are not written by hand
_MOST_BYTES = 50_000_000  # of all project files, which a worker holds in memory
_MOST_YAML_BYTES = 10_000_000  # of YAML, the slowest format: 20 s at most
_YAML = (".yml", ".yaml")
_SECONDS = 2.0  # processor time per file; real ones take milliseconds, those it refers to included
_SECONDS_PER_YAML_BYTE = 3e-6  # of the files that a deployment may refer to
_MOST_FAILURES = 10  # files that cost a worker before the rest is left out: real repositories have none

Value = TypeVar("Value")


def update_statements(root: Path, home: Home, scanned: Scan, contents: Contents) -> dict[str, str]:
    """Update the stored statements to the current project files; return those that cannot be read, with reasons.

    Entry points depend on which files exist, so a new or removed file counts as a change.
    """
    path = home.folder / stated.NAME
    if not scanned.project_files:
        path.unlink(missing_ok=True)
        return {}
    key = _key(scanned, contents)
    if stated.key_of(path) == key:
        return {}
    from assay.index.enrich.sources import Sources  # parsers of YAML and XML, which an unchanged repository needs not

    paths = {*scanned.files, *scanned.configs, *scanned.documents, *scanned.project_files}
    fitting, notes = _fitting(scanned.project_files)
    statements, problems = read_statements(Sources(root, fitting, paths), fitting)
    stated.write(path, key, statements)
    return notes | problems


def _fitting(files: Mapping[str, ScannedFile]) -> tuple[dict[str, int], dict[str, str]]:
    """Return the sizes of the project files to read, in order, and why others are left out: for the size of all."""
    fitting, left_out = dict[str, int](), dict[str, str]()
    size = yaml_size = 0
    for path in sorted(files):
        size += files[path].size
        yaml_size += files[path].size if path.endswith(_YAML) else 0
        if size > _MOST_BYTES or (path.endswith(_YAML) and yaml_size > _MOST_YAML_BYTES):
            left_out[path] = "left out: the project files before it are too large together"
        else:
            fitting[path] = files[path].size
    return fitting, left_out


def _key(scanned: Scan, contents: Contents) -> str:
    """Return a key of the input: the names of all files, and the contents of project files."""
    digest = blake2b(statements_version().encode(), digest_size=16)
    for names in (scanned.files, scanned.configs, scanned.documents):
        digest.update("\0".join(sorted(names)).encode("utf-8", "surrogatepass") + b"\n")
    for path, file in sorted(scanned.project_files.items()):
        digest.update(f"{path}\0{contents.hash(file).hex() or file[1:]}\n".encode())
    return digest.hexdigest()


def read_statements(sources: Sources, sizes: Mapping[str, int]) -> tuple[Statements, dict[str, str]]:
    """Return what the project files state, in an order that depends on content only, and the files with problems."""
    from assay.index.enrich.deployments import is_deployment, read_deployment
    from assay.index.enrich.deployments.project import Project
    from assay.index.enrich.manifests import Manifest, is_manifest

    problems = dict[str, str]()
    owners_files = [place for place in PLACES if place in sources.project_files][:1]
    first = {path: size for path, size in sizes.items() if is_manifest(path) or path in owners_files}
    read = list(_read_all(sources, problems, partial(_read_first, sources), first, _SECONDS))
    manifests = [value for value in read if isinstance(value, Manifest)]
    rules = [rule for value in read if isinstance(value, list) for rule in value]
    second = {path: size for path, size in sizes.items() if is_deployment(path)}
    # a manifest of Kubernetes refers to the files that build images, which are YAML, too
    seconds = _SECONDS + _SECONDS_PER_YAML_BYTE * sum(size for path, size in second.items() if path.endswith(_YAML))
    read_one = partial(read_deployment, Project(sources, manifests))
    deployed = list(chain.from_iterable(_read_all(sources, problems, read_one, second, seconds)))
    modules = {Module(m.path, m.ecosystem, _clean(m.name)) for m in manifests if m.name}
    requirements = {
        Requirement(m.path, d.line, m.ecosystem, _clean(d.name), _clean(d.detail), d.target)
        for m in manifests
        for d in m.dependencies
        if d.name
    }
    deployments = {row._replace(unit=_clean(row.unit), detail=_clean(row.detail)) for row in deployed}
    statements = Statements(
        sorted(modules),
        sorted(requirements)[:_MOST_ROWS],
        sorted(deployments)[:_MOST_ROWS],
        "".join(owners_files),
        rules,
    )
    return statements, problems


def _read_all(
    sources: Sources,
    problems: dict[str, str],
    read: Callable[[str], Value | None],
    sizes: Mapping[str, int],
    seconds: float,
) -> Iterator[Value]:
    """Yield what a reader returns for each file, in order; files that cannot be read are added to `problems`."""
    paths, failures = sorted(sizes), 0
    with Pool(partial(_read_one, sources, read), partial(_allowed, seconds), worker_count()) as pool:
        batches = [pool.submit(batch) for batch in _batches(paths, sizes)]
        for number, (path, result) in enumerate(chain.from_iterable(batch.results() for batch in batches), 1):
            if isinstance(result, Failure):
                failures += 1
                problems[path] = describe_failure(result)
            else:
                value, found = result
                problems |= found
                if value is not None:
                    yield value
            if failures == _MOST_FAILURES:
                problems |= dict.fromkeys(paths[number:], "left out: too many project files cannot be read")
                break


def _batches(paths: Iterable[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Group files by size: a worker starts for each of the first groups."""
    batch, size = list[str](), 0
    for path in paths:
        batch.append(path)
        size += sizes[path]
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _allowed(seconds: float, _path: str) -> float:
    return seconds


def _read_one(sources: Sources, read: Callable[[str], Value | None], path: str) -> tuple[Value | None, dict[str, str]]:
    """Read a file in a worker; return its value and new problems, also those of files that it refers to."""
    sources.problems = {}
    try:
        return read(path), sources.problems
    except MemoryError:
        raise  # the worker is out of memory
    except Exception as error:  # a failure is limited to its file
        return None, {path: f"cannot be read: {type(error).__name__}{f': {error}' if str(error) else ''}"}


def _read_first(sources: Sources, path: str) -> Manifest | list[OwnerRule] | None:
    """Read a file that refers to no others: a manifest, or the owners."""
    from assay.index.enrich.manifests import read_manifest

    if path not in PLACES:
        return read_manifest(sources, path)
    rules = parse_rules(sources.text(path))
    return [rule for rule in rules if rule.pattern.isprintable() and rule.section.isprintable()]


def _clean(text: str) -> str:
    """Return a text from a project file on one line, without control characters, and of bounded length."""
    line = " ".join(printable(text).split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"
