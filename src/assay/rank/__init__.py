"""Reading the index: status, names, impact, affected tests. The retrieval engine will live here too."""

from __future__ import annotations
