"""Documents: recognised by file name, split into sections by headings, and read for terms and mentioned names."""

from __future__ import annotations
