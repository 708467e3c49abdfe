"""Servers: MCP, web pages with an HTTP API, and the indexes they keep up to date."""
