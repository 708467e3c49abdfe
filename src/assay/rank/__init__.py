"""Retrieval over an index: the ranking engine, its signals, symbol lookup, impact and index status."""

from __future__ import annotations
