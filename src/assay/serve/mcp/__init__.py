"""MCP server for agents: a few tools with token-budgeted answers (docs/guides/agents.md)."""

from __future__ import annotations
