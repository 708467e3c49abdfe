"""Python: pyproject.toml (PEP 621, Poetry, uv workspaces, dependency groups), requirements files, setup.cfg, setup.py."""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, as_dict, as_list, as_text, at, line_at, line_of, texts_in

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(@\s*\S+|[^;#]*)")
_INCLUDE = re.compile(r"\s*(?:-r|--requirement|-c|--constraint)[\s=]+(\S+)")
_EDITABLE = re.compile(r"\s*(?:-e|--editable)[\s=]+(\S+)|\s*((?:\.{1,2}/|\.$)\S*)")
_LOCAL_FILE = re.compile(r"@\s*(?:file:)(?://)?(\.[^\s;#]*)")
_MOST_LINES = 2_000  # dependencies whose lines are looked up; a look-up reads the file
_MAX_SOURCE = 200_000  # characters of a setup.py that is parsed


def canonical(name: str) -> str:
    """Return a name as the registry compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _parsed(sources: Sources, path: str, requirement: str, line: int, group: str = "") -> Dependency | None:
    """Return the dependency that a requirement (PEP 508) states."""
    match = _REQUIREMENT.match(requirement)
    if match is None:
        return None
    constraint = match[2].strip().strip("()")
    local = _LOCAL_FILE.match(constraint)
    target = _manifest_in(sources, posixpath.dirname(path), local[1]) if local else ""
    detail = "" if constraint.startswith("@") else constraint
    return Dependency(canonical(match[1]), _joined(detail, group), line, target)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _manifest_in(sources: Sources, base: str, folder: str) -> str:
    """Return the manifest of a package in a folder; empty if there is none."""
    place = sources.inside(base, folder)
    if place is None:
        return ""
    names = (posixpath.join(place, name) for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    return next((name for name in names if name in sources.project_files), "")


# pyproject.toml


def read_pyproject(sources: Sources, path: str) -> Manifest | None:
    content, text = sources.toml(path), sources.text(path)
    project, poetry = as_dict(content.get("project")), as_dict(at(content, "tool", "poetry"))
    name = as_text(project.get("name")) or as_text(poetry.get("name"))
    manifest = Manifest(path, "python", canonical(name) if name else "")
    local = _uv_sources(sources, path, content)
    for group, requirements in _requirement_lists(content):
        for requirement in requirements:
            dependency = _parsed(sources, path, requirement, 0, group)
            if dependency and dependency.name != manifest.name:
                target = local.get(dependency.name, dependency.target)
                line = _line(text, requirement, dependency.name) if len(manifest.dependencies) < _MOST_LINES else 0
                manifest.dependencies.append(dependency._replace(line=line, target=target))
    manifest.dependencies += _poetry_dependencies(sources, path, poetry, text)
    for table in (project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")):
        manifest.programs |= {key: as_text(value) for key, value in as_dict(table).items() if as_text(value)}
    return manifest if manifest.name or manifest.dependencies else None


def _line(text: str, requirement: str, name: str) -> int:
    place = text.find(requirement)
    return line_at(text, place) if place >= 0 else line_of(text, name)


def _requirement_lists(content: dict[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the lists of requirements with the name of their group."""
    yield "", texts_in(at(content, "project", "dependencies"))
    for tables in (at(content, "project", "optional-dependencies"), content.get("dependency-groups")):
        yield from ((group, texts_in(entries)) for group, entries in as_dict(tables).items())
    yield "dev", texts_in(at(content, "tool", "uv", "dev-dependencies"))
    yield "build", texts_in(at(content, "build-system", "requires"))


def _uv_sources(sources: Sources, path: str, content: dict[str, Any]) -> dict[str, str]:
    """Return the manifests of dependencies that `tool.uv.sources` takes from a path of the repository."""
    out = {}
    for name, source in as_dict(at(content, "tool", "uv", "sources")).items():
        folder = as_text(as_dict(source).get("path"))
        if folder and (target := _manifest_in(sources, posixpath.dirname(path), folder)):
            out[canonical(name)] = target
    return out


def _poetry_dependencies(sources: Sources, path: str, poetry: dict[str, Any], text: str) -> Iterator[Dependency]:
    groups = {"": poetry.get("dependencies"), "dev": poetry.get("dev-dependencies")}
    groups |= {name: at(group, "dependencies") for name, group in as_dict(poetry.get("group")).items()}
    for group, table in groups.items():
        for name, value in as_dict(table).items():
            if name == "python":
                continue
            options = as_dict(value)
            constraint = as_text(value) or as_text(options.get("version"))
            folder = as_text(options.get("path"))
            target = _manifest_in(sources, posixpath.dirname(path), folder) if folder else ""
            yield Dependency(canonical(name), _joined(constraint, group), line_of(text, name), target)


# requirements files


def read_requirements(sources: Sources, path: str) -> Manifest | None:
    manifest = Manifest(path, "python")
    for number, line in enumerate(sources.text(path).splitlines(), 1):
        if include := _INCLUDE.match(line):
            target = sources.inside(manifest.folder, include[1])
            if target in sources.project_files and target != path:
                manifest.dependencies.append(Dependency(target or "", "", number, target or ""))
        elif editable := _EDITABLE.match(line):
            folder = (editable[1] or editable[2]).partition("[")[0]
            if target := _manifest_in(sources, manifest.folder, folder):
                manifest.dependencies.append(Dependency(target, "editable", number, target))
        elif not line.lstrip().startswith(("-", "#", "http:", "https:", "git+", ".")):
            stated = line.partition(" --")[0].rstrip(" \\")
            dependency = _parsed(sources, path, stated, number)
            if dependency and _is_requirement(stated):
                manifest.dependencies.append(dependency)
    return manifest if manifest.dependencies else None


_WHOLE = re.compile(
    r"\s*+[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?\s*+(?:\[[\w\s,.-]*+\]\s*+)?"
    r"(?:@\s*+\S[^\s;#]*+|(?:\(\s*+)?(?:(?:===|==|~=|!=|<=|>=|<|>)\s*+[\w.*+!-]++\s*+(?:,\s*+)?)*+\)?)\s*+(?:[;#].*)?"
)


def _is_requirement(line: str) -> bool:
    """Return whether a whole line is a requirement: other text files have such names too."""
    return len(line) < 500 and _WHOLE.fullmatch(line) is not None


# setup.cfg and setup.py


def read_setup_cfg(sources: Sources, path: str) -> Manifest | None:
    # it collects an error per line that has no value, in quadratic time, and tries runs of blanks at every length
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    text = sources.text(path)
    try:
        parser.read_string(re.sub(r"(?<=\S)[^\S\n]++", " ", text))
    except (configparser.Error, AttributeError):  # the latter: it continues an option without a value
        return None
    name = (parser.get("metadata", "name", fallback="") or "").strip()
    manifest = Manifest(path, "python", canonical(name) if name else "")
    lists = [("", parser.get("options", "install_requires", fallback="") or "")]
    if parser.has_section("options.extras_require"):
        lists += [(group, value or "") for group, value in parser.items("options.extras_require")]
    for group, requirements in lists:
        for requirement in requirements.splitlines():
            if requirement.strip() and (dependency := _parsed(sources, path, requirement, 0, group)):
                is_many = len(manifest.dependencies) >= _MOST_LINES
                line = 0 if is_many else _line(text, requirement.strip(), dependency.name)
                manifest.dependencies.append(dependency._replace(line=line))
    scripts = parser.get("options.entry_points", "console_scripts", fallback="") or ""
    manifest.programs |= _console_scripts(scripts.splitlines())
    return manifest if manifest.name or manifest.dependencies else None


def _console_scripts(lines: Iterable[str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): target.strip() for name, _, target in pairs}


def read_setup_py(sources: Sources, path: str) -> Manifest | None:
    """Read the literal arguments of `setup()`."""
    try:
        tree = ast.parse(sources.text(path)[:_MAX_SOURCE])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next((node for node in calls if _called_name(node) == "setup"), None)
    if call is None:
        return None
    values = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    name = _literal(values.get("name"))
    manifest = Manifest(path, "python", canonical(name) if isinstance(name, str) else "")
    for group, node in _requirement_nodes(values):
        for element in node.elts if isinstance(node, ast.List | ast.Tuple) else ():
            value = _literal(element)
            if isinstance(value, str) and (dependency := _parsed(sources, path, value, element.lineno, group)):
                manifest.dependencies.append(dependency)
    entry_points = as_dict(_literal(values.get("entry_points")))
    manifest.programs |= _console_scripts(texts_in(as_list(entry_points.get("console_scripts"))))
    return manifest if manifest.name or manifest.dependencies else None


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _requirement_nodes(values: dict[str, ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    if "install_requires" in values:
        yield "", values["install_requires"]
    extras = values.get("extras_require")
    if isinstance(extras, ast.Dict):
        for key, node in zip(extras.keys, extras.values, strict=True):
            yield as_text(_literal(key)), node


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


READERS = {
    r"(?:.*/)?pyproject\.toml": read_pyproject,
    r"(?:.*/)?setup\.cfg": read_setup_cfg,
    r"(?:.*/)?setup\.py": read_setup_py,
    r"(?:.*/)?(?:[\w.-]*requirements[\w.-]*|requirements/[^/]+)\.(?:txt|in)": read_requirements,
}
