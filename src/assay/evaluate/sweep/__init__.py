"""Many configurations of a system on one golden set: which is the best, which the fastest, and which cannot be told apart.

    grid (flags, YAML) ──▶ configurations ──▶ shared stages, once ──▶ a stored run each ──▶ verdict ──▶ table · JSON · HTML

`grid` and `grid_file` say what is tried, `naming` what it is called; `asking` makes the runs and knows which were made before; `measured`
reads their figures, `verdict` says what they mean, `shapes` writes them as JSON. `difficulty` (beside this folder) tells hard queries from easy
ones without labels. Every configuration is an ordinary run: `eval show`, `compare` and `report` work on it, `eval run --system SPEC` repeats it.
"""
