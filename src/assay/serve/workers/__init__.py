"""Several processes of `assay serve`: a supervisor that keeps the indexes, and workers that answer.

supervisor ──starts──▶ worker: `python -m assay.serve.workers.worker DESCRIPTOR`; both talk over a `Channel`
"""
