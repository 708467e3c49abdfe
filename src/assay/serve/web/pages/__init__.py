"""The web pages: each a function from what was asked to markup, drawn with the elements, plots and style of the reports."""

from __future__ import annotations
