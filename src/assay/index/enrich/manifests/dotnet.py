"""C#, F# and Visual Basic: project files of MSBuild with package and project references."""

from __future__ import annotations

import posixpath

from assay.index.enrich.manifests import Dependency, Manifest
from assay.index.enrich.sources import Sources, line_of

_CENTRAL = "Directory.Packages.props"


def read_project(sources: Sources, path: str) -> Manifest | None:
    root = sources.xml(path)
    if root is None:
        return None
    text = sources.text(path)
    name = (root.findtext(".//PackageId") or root.findtext(".//AssemblyName") or "").strip()
    if not name or "$(" in name:
        name = posixpath.splitext(posixpath.basename(path))[0]
    manifest = Manifest(path, "nuget", name.lower())
    versions = _central_versions(sources, manifest.folder)
    for reference in root.iter("ProjectReference"):
        stated = reference.get("Include", "")
        target = sources.inside(manifest.folder, stated)
        if target in sources.project_files:
            manifest.dependencies.append(Dependency(target or "", "", line_of(text, stated), target or ""))
    for reference in root.iter("PackageReference"):
        package = reference.get("Include", "")
        version = reference.get("Version") or (reference.findtext("Version") or "").strip()
        if package and "$(" not in package:
            version = version or versions.get(package.lower(), "")
            detail = "" if "$(" in version else version
            manifest.dependencies.append(Dependency(package.lower(), detail, line_of(text, package)))
    return manifest


def _central_versions(sources: Sources, folder: str) -> dict[str, str]:
    """Return the package versions that the nearest Directory.Packages.props above states."""
    while True:
        root = sources.xml(posixpath.join(folder, _CENTRAL))
        if root is not None:
            return {
                version.get("Include", "").lower(): version.get("Version", "")
                for version in root.iter("PackageVersion")
            }
        if not folder:
            return {}
        folder = posixpath.dirname(folder)


READERS = {r".*\.(?:cs|fs|vb)proj": read_project}
