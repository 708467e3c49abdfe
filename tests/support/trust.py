"""Trust in the settings of a repository, granted as `assay trust --yes` does."""

from __future__ import annotations

import warnings
from pathlib import Path

from assay.config import trust
from assay.config.configuration import NAME, load


def trust_settings(root: Path) -> None:
    """Trusts whatever the assay.toml of a folder says now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trust.UntrustedSettings)
        trust.grant(root / NAME, load(root).risks)
