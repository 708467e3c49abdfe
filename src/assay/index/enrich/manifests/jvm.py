"""Java, Kotlin and Scala: pom.xml of Maven and the build files of Gradle.

Maven: coordinates `group:artifact`, properties and versions through parents of the repository. Gradle: literal
dependencies, projects of the build, and version catalogues.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from xml.etree.ElementTree import Element

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, as_dict, as_text, at, line_at, line_of

_MOST_PARENTS = 10  # of a pom; also ends cycles
_MOST_SUBSTITUTIONS = 5  # of properties within properties
_PROPERTY = re.compile(r"\$\{([^{}]+)\}")


# Maven


def read_pom(sources: Sources, path: str) -> Manifest | None:
    root = sources.xml(path)
    if root is None or root.tag != "project":
        return None
    text, properties = sources.text(path), _properties(sources, path)
    manifest = Manifest(path, "maven")
    group, artifact = properties.get("project.groupId", ""), _text(root, "artifactId")
    if artifact:
        manifest.name = f"{group}:{artifact}"
    parent = _parent_path(sources, path)
    if parent:
        manifest.dependencies.append(Dependency(parent, "parent", line_of(text, "parent"), parent))
    for module in root.iterfind("modules/module"):
        if target := _pom_in(sources, manifest.folder, (module.text or "").strip()):
            line = line_of(text, (module.text or "").strip())
            manifest.dependencies.append(Dependency(target, "module", line, target))
    for dependency in root.iterfind("dependencies/dependency"):
        group, artifact = (_expanded(_text(dependency, name), properties) for name in ("groupId", "artifactId"))
        if group and artifact and "${" not in group + artifact:
            version = _expanded(_text(dependency, "version"), properties)
            detail = ", ".join(part for part in (version, _text(dependency, "scope")) if part)
            line = line_of(text, artifact, max(text.find("<dependencies>"), 0))
            manifest.dependencies.append(Dependency(f"{group}:{artifact}", detail, line))
    return manifest if manifest.name else None


def _text(element: Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _pom_in(sources: Sources, base: str, place: str) -> str:
    inside = sources.inside(base, place) if place else None
    if inside is None:
        return ""
    return next((p for p in (inside, posixpath.join(inside, "pom.xml")) if p in sources.project_files), "")


def _parent_path(sources: Sources, path: str) -> str:
    """Return the parent's pom if it is in the repository and has the coordinates that are stated."""
    root = sources.xml(path)
    parent = root.find("parent") if root is not None else None
    if parent is None:
        return ""
    relative = parent.findtext("relativePath")
    place = _pom_in(sources, posixpath.dirname(path), "../pom.xml" if relative is None else relative.strip())
    stated = sources.xml(place) if place else None
    return place if stated is not None and _text(stated, "artifactId") == _text(parent, "artifactId") else ""


def _properties(sources: Sources, path: str) -> dict[str, str]:
    """Return the properties of a pom and its parents in the repository; nearer ones win."""
    out: dict[str, str] = {}
    for _ in range(_MOST_PARENTS):
        root = sources.xml(path)
        if root is None:
            break
        parent = root.find("parent")
        for name in ("groupId", "version"):
            value = _text(root, name) or (_text(parent, name) if parent is not None else "")
            if value:
                out.setdefault(f"project.{name}", value)
        for element in root.iterfind("properties/*"):
            out.setdefault(str(element.tag), (element.text or "").strip())
        path = _parent_path(sources, path)
        if not path:
            break
    return out


def _expanded(text: str, properties: dict[str, str]) -> str:
    for _ in range(_MOST_SUBSTITUTIONS):
        if "${" not in text or len(text) > 500:
            break
        text = _PROPERTY.sub(lambda match: properties.get(match[1], match[0]), text)
    return text


# Gradle

_CONFIGURATION = (
    r"\b(\w*(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|compile|kapt|ksp|annotationProcessor))\b"
)
_COORDINATES = re.compile(
    _CONFIGURATION + r"\s*+\(?\s*+(?:platform\s*+\(\s*+)?[\"']([\w.-]++):([\w.-]++)(?::([^\"'@]*+))?+[^\"']*+[\"']"
)
_PROJECT = re.compile(
    _CONFIGURATION + r"\s*+\(?\s*+(?:\w+\s*+\(\s*+)?project\s*+\(\s*+(?:path\s*+[:=]\s*+)?[\"']([\w:.-]+)[\"']"
)
_ACCESSOR = re.compile(_CONFIGURATION + r"\s*+\(?\s*+(?:platform\s*+\(\s*+)?projects((?:\.\w+)+)")
_CATALOGUE = re.compile(_CONFIGURATION + r"\s*+\(?\s*+(?:platform\s*+\(\s*+)?libs((?:\.\w+)+)")
_BUILD_FILES = ("build.gradle", "build.gradle.kts")
_SETTINGS = ("settings.gradle", "settings.gradle.kts")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_DIRECTORY = re.compile(
    r"project\s*\(\s*[\"']([\w:.-]+)[\"']\s*\)\s*\.projectDir\s*=\s*(?:new\s+File|file)\s*\([^\"'\n]{0,80}[\"']([\w./-]+)[\"']"
)


def read_gradle(sources: Sources, path: str) -> Manifest | None:
    text = sources.text(path)
    code = _COMMENT.sub(lambda match: "\n" * match[0].count("\n") if "://" not in match[0] else match[0], text)
    root = _build_root(sources, posixpath.dirname(path))
    manifest = Manifest(path, "maven")
    libraries = _catalogue(sources, root)
    for match in _PROJECT.finditer(code):
        if target := _project(sources, root, match[2]):
            manifest.dependencies.append(Dependency(target, match[1], _line(code, match), target))
    for match in _ACCESSOR.finditer(code):
        if target := _project(sources, root, _kebab(match[2])):
            manifest.dependencies.append(Dependency(target, match[1], _line(code, match), target))
    for match in _COORDINATES.finditer(code):
        version = match[4] or ""
        detail = ", ".join(part for part in ("" if "$" in version else version, match[1]) if part)
        manifest.dependencies.append(Dependency(f"{match[2]}:{match[3]}", detail, _line(code, match)))
    for match in _CATALOGUE.finditer(code):
        if (library := libraries.get(match[2].strip(".").lower())) is not None:
            name, version = library
            detail = ", ".join(part for part in (version, match[1]) if part)
            manifest.dependencies.append(Dependency(name, detail, _line(code, match)))
    return manifest if manifest.dependencies else None


def _line(text: str, match: re.Match[str]) -> int:
    return line_at(text, match.start())


def _build_root(sources: Sources, folder: str) -> str:
    """Return the nearest folder above with the settings of the build; the folder itself if there is none."""
    place = folder
    while True:
        if any(posixpath.join(place, name) in sources.project_files for name in _SETTINGS):
            return place
        if not place:
            return folder
        place = posixpath.dirname(place)


def _kebab(accessor: str) -> str:
    """Return the project of a type-safe accessor: `.fooBar.baz` is `:foo-bar:baz`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"-{match[1].lower()}", accessor.replace(".", ":"))


def _project(sources: Sources, root: str, project: str) -> str:
    """Return the build file of a project such as `:shop:core`."""
    folder = project.strip(":").replace(":", "/")
    for name in _SETTINGS:
        folder = _directories(sources.text(posixpath.join(root, name))).get(project, folder)
    places = (posixpath.join(root, folder, name) for name in (*_BUILD_FILES, f"{posixpath.basename(folder)}.gradle"))
    return next((place for place in places if place in sources.project_files), "")


@lru_cache(maxsize=4)  # the settings of one build, asked by all its projects
def _directories(settings: str) -> dict[str, str]:
    """Return the folders of projects that are not where their names say."""
    return dict(_DIRECTORY.findall(settings))


def _catalogue(sources: Sources, root: str) -> dict[str, tuple[str, str]]:
    """Return the libraries of a build's version catalogue: accessor → coordinates and version."""
    content = sources.toml(posixpath.join(root, "gradle/libs.versions.toml"))
    out = {}
    for alias, value in as_dict(content.get("libraries")).items():
        name, version = _library(value)
        reference = as_text(at(value, "version", "ref"))
        if reference:
            version = as_text(as_dict(content.get("versions")).get(reference))
        if name:
            out[re.sub(r"[-_]", ".", alias).lower()] = name, version
    return out


def _library(value: object) -> tuple[str, str]:
    if isinstance(value, str):
        group, _, rest = value.partition(":")
        artifact, _, version = rest.partition(":")
        return (f"{group}:{artifact}" if artifact else ""), version
    options = as_dict(value)
    module = as_text(options.get("module"))
    if not module and options.get("group") and options.get("name"):
        module = f"{as_text(options['group'])}:{as_text(options['name'])}"
    return module, as_text(options.get("version"))


READERS = {r"(?:.*/)?pom\.xml": read_pom, r"(?:.*/)?build\.gradle(?:\.kts)?": read_gradle}
