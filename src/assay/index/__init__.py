"""From files to items and edges: walking, extracting, resolving. `pipeline` tells the whole story."""

from __future__ import annotations
