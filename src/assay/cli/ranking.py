"""What the commands that rank have in common."""

from __future__ import annotations

import click

from assay.cli.common import F
from assay.retrieve.profile import DEFAULT, PROFILES


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        "profile_name",
        metavar="NAME",
        help=f"How to rank: {', '.join(PROFILES)}, or a profile of assay.toml. Default: {DEFAULT}.",
    )(function)


def session_option(function: F) -> F:
    return click.option(
        "--session",
        default="",
        metavar="NAME",
        help="Whose questions these are: what a session was given lately ranks higher in it.",
    )(function)
