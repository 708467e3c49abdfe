"""Ruby: literal dependencies of a Gemfile and of gem specifications."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, line_at

_GEM = re.compile(r"^[ \t]*gem[ \t(]+[\"']([\w.-]+)[\"']([^\n]*)", re.MULTILINE)
_SPEC_NAME = re.compile(r"\.name\s*=\s*[\"']([\w.-]+)[\"']")
_SPEC_DEPENDENCY = re.compile(
    r"^[^#\n]*\.add_(?:(runtime|development)_)?dependency[ \t(]+[\"']([\w.-]+)[\"']([^\n]*)", re.MULTILINE
)
_CONSTRAINT = re.compile(r"[\"']((?:[~<>=!]{1,2}\s*)?\d[\w.]*)[\"']")
_PATH = re.compile(r"\bpath(?::|\s*=>)\s*[\"']([^\"'#]+)[\"']")
_GEMSPEC = re.compile(r"^[ \t]*gemspec\b([^\n]*)", re.MULTILINE)
_NAME_OPTION = re.compile(r"\bname(?::|\s*=>)\s*[\"']([\w.-]+)[\"']")


def read_gemfile(sources: Sources, path: str) -> Manifest | None:
    text = sources.text(path)
    manifest = Manifest(path, "gem")
    for match in _GEM.finditer(text):
        options = match[2].partition(" #")[0]
        local = _PATH.search(options)
        target = _gemspec_in(sources, manifest.folder, local[1], match[1]) if local else ""
        manifest.dependencies.append(Dependency(match[1], _constraints(options), _line(text, match), target))
    for match in _GEMSPEC.finditer(text):
        local, named = _PATH.search(match[1]), _NAME_OPTION.search(match[1])
        target = _gemspec_in(sources, manifest.folder, local[1] if local else ".", named[1] if named else "")
        if target:
            manifest.dependencies.append(Dependency(target, "gemspec", _line(text, match), target))
    return manifest if manifest.dependencies else None


def read_gemspec(sources: Sources, path: str) -> Manifest | None:
    text = sources.text(path)
    named = _SPEC_NAME.search(text)
    manifest = Manifest(path, "gem", named[1] if named else posixpath.basename(path).removesuffix(".gemspec"))
    for match in _SPEC_DEPENDENCY.finditer(text):
        group = "dev" if match[1] == "development" else ""
        detail = ", ".join(part for part in (_constraints(match[3]), group) if part)
        manifest.dependencies.append(Dependency(match[2], detail, _line(text, match)))
    return manifest


def _line(text: str, match: re.Match[str]) -> int:
    return line_at(text, match.start())


def _constraints(options: str) -> str:
    return ", ".join(_constraint_texts(options))


def _constraint_texts(options: str) -> Iterator[str]:
    """Yield the version constraints among the arguments: those before the first option."""
    for match in _CONSTRAINT.finditer(re.split(r"\b\w+:\s|=>", options)[0]):
        yield match[1]


def _gemspec_in(sources: Sources, base: str, folder: str, name: str) -> str:
    """Return the specification of a gem in a folder: that of its name, or the only one."""
    place = sources.inside(base, folder)
    if place is None:
        return ""
    specs = [path for path in sources.by_folder.get(place, ()) if path.endswith(".gemspec")]
    own = posixpath.join(place, f"{name}.gemspec")
    return own if own in specs else specs[0] if len(specs) == 1 else ""


READERS = {r"(?:.*/)?Gemfile": read_gemfile, r"(?:.*/)?[\w.-]+\.gemspec": read_gemspec}
