"""Replay of seed 003, the specification of retrieval that this project began with: the profile `seed`.

`replay.py` is its pipeline, numbered as there, and `specification.py` its tables; `bm25.py`, `paths.py` and `noise.py` are
its own steps. Keyword extraction, the channels of names and classes, the graph and HITS are shared with the live engine.
docs/retrieval.md lists the departures.
"""
