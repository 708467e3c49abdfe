"""Table of all pages."""

from __future__ import annotations

from assay.serve.web.pages import compare, runs, search, status, sweeps
from assay.serve.web.pages.shell import Page

PAGES: tuple[Page, ...] = (*search.PAGES, *runs.PAGES, *compare.PAGES, *sweeps.PAGES, *status.PAGES)
