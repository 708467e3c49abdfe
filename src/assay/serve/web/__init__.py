"""Web server: an HTTP API with the answers of the commands, and HTML pages. Listens on loopback by default.

request ──▶ server (connections) ──▶ guard (host, origin, token, size, time) ──▶ parameters ──▶ workers ──▶ api · pages ──▶ bench
"""

from __future__ import annotations
