"""Go: go.mod with its requirements and replacements."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources

_REPLACED = re.compile(r"(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)")


def read_go_mod(sources: Sources, path: str) -> Manifest | None:
    manifest = Manifest(path, "go")
    folders: dict[str, str] = {}
    for directive, value, line in _directives(sources.text(path)):
        words = value.split()
        if directive == "module" and words:
            manifest.name = words[0].strip('"')
        elif directive == "require" and len(words) >= 2:
            manifest.dependencies.append(Dependency(words[0].strip('"'), words[1], line))
        elif directive == "replace" and (replaced := _REPLACED.match(value)) and replaced[2].startswith("."):
            folder = sources.inside(manifest.folder, replaced[2])
            target = posixpath.join(folder, "go.mod") if folder is not None else ""
            if target in sources.project_files:
                folders[replaced[1]] = target
    manifest.dependencies = [
        dependency._replace(target=folders.get(dependency.name, "")) for dependency in manifest.dependencies
    ]
    return manifest if manifest.name else None


def _directives(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each directive with its value and line; blocks in parentheses are divided. Indirect requirements are not."""
    block = ""
    for number, line in enumerate(text.splitlines(), 1):
        stated, _, comment = line.partition("//")
        stated = stated.strip()
        if not stated or comment.strip().startswith("indirect"):
            continue
        if block:
            if stated == ")":
                block = ""
            else:
                yield block, stated, number
        elif stated.endswith("("):
            block = stated[:-1].strip()
        else:
            directive, _, value = stated.partition(" ")
            yield directive, value.strip(), number


READERS = {r"(?:.*/)?go\.mod": read_go_mod}
