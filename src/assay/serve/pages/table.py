"""All pages."""

from __future__ import annotations

from assay.serve.pages import search
from assay.serve.pages.shell import Page

PAGES: tuple[Page, ...] = (*search.PAGES,)
