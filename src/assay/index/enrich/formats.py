"""Names of project files: manifests, deployment and ownership files. The readers of each are in their own modules.

Kept apart from the readers, which load parsers of YAML and XML: every scan classifies names.
"""

from __future__ import annotations

import re

_NAMES = (
    # manifests
    r"pyproject\.toml", r"setup\.(?:cfg|py)", r"[\w.-]*requirements[\w.-]*\.(?:txt|in)", r"package\.json",
    r"pnpm-workspace\.yaml", r"go\.(?:mod|work)", r"Cargo\.toml", r"pom\.xml", r"(?:build|settings)\.gradle(?:\.kts)?",
    r"[\w.-]+\.versions\.toml", r"[\w.-]+\.(?:cs|fs|vb)proj", r"Directory\.Packages\.props", r"Gemfile",
    r"[\w.-]+\.gemspec",
    # deployments; Kubernetes manifests and workflows have any name
    r"(?:[\w.-]+\.)?(?:Docker|Container)file(?:\.[\w.-]+)?", r"[\w.-]+\.ya?ml", r"Procfile(?:\.\w+)?", r"[\w@.-]+\.service",
    # owners
    r"CODEOWNERS",
)  # fmt: skip
_PROJECT_FILE = re.compile("|".join(_NAMES))
_REQUIREMENTS_FOLDER = re.compile(r"(?:^|/)requirements/[^/]+\.(?:txt|in)$")


def is_project_file(path: str) -> bool:
    """Return whether a path is one of a manifest, deployment or ownership file, by its name."""
    return bool(_PROJECT_FILE.fullmatch(path.rpartition("/")[2]) or _REQUIREMENTS_FOLDER.search(path))
