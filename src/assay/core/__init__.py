"""Core data types: items and edges, golden queries and hits, packs. Plain values without I/O."""
