"""Documents: recognised by name, split into sections by their headings, read for their words and the names they mention."""

from __future__ import annotations
