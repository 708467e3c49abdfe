"""Enrichment of an index from outside the code: manifests, deployment files, owners.

`statements.py` is the step of the pipeline; `formats.py` names the files it reads.
"""
