"""Sweeps: many configurations of a system on one golden set, with the best, the fastest and the indistinguishable ones.

    grid (flags, YAML) ──▶ configurations ──▶ shared stages ──▶ a stored run each ──▶ verdict ──▶ table · JSON · HTML

`grid` defines the configurations and their names, `execution` runs and resumes them, `verdict` computes figures
and recommendations, `sweep` runs it all and writes JSON. Every configuration is an ordinary run: `eval show`, `compare`
and `report` work on it, `eval run --system SPEC` repeats it.
"""
