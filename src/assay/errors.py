"""Errors written for the person who meets them."""

from __future__ import annotations


class AssayError(Exception):
    """Something the user can act on. The message says what was wrong, where, and what to do; the command exits with 2."""

    exit_code = 2
