"""What the commands that rank have in common."""

from __future__ import annotations

import click

from assay.cli.common import F
from assay.retrieve.profile import DEFAULT, PROFILES


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        "profile_name",
        show_default=DEFAULT,
        metavar="NAME",
        help=f"How to rank: {', '.join(PROFILES)}, or a profile of assay.toml.",
    )(function)
