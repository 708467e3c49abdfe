"""Retrieval evaluation: golden sets, systems, matching, metrics, statistics, runs and comparison.

    golden set ──▶ run ◀── system (ours · command · HTTP · Python · TREC run file)
                    │ judge: hits × expectations, by a matcher
                    ▼
                 run store ──▶ metrics ──▶ show · compare · gate · diagnose · sweep · experiment · report

`golden/` reads and writes golden sets, `systems/` queries retrievers, `matching` decides which hits count as relevant,
`judging` turns hits into judged arrays, `metrics` reduces those to figures, `statistics/` tests differences, and `runs`
stores everything. The jobs are `run`, `compare`, `gate`, `threshold`, `verify` (which also diagnoses misses), `sweep/`,
`tune/` and `mine/`; `scores` and `markdown` report on a run, `html/report` renders it. Nothing here imports the search
half; our engine is a system like any other (`systems/assay.py`).
"""
