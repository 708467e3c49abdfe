"""The server for agents: few tools that take names and paths, answers within a budget of tokens (docs/guides/agents.md)."""

from __future__ import annotations
