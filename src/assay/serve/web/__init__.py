"""The web surface: an HTTP API that answers as the commands do, and pages for people. Loopback unless told otherwise.

request ──▶ server (connections) ──▶ guard (host, origin, token, size, time) ──▶ parameters ──▶ workers ──▶ api · pages ──▶ bench
"""

from __future__ import annotations
