"""Measuring any retriever: golden sets, systems, matching, metrics, statistics, runs, comparison.

    golden set ──▶ run ◀── system (ours · command · HTTP · Python · TREC run file)
                    │ judge: hits × expectations, by a matcher
                    ▼
                 run store ──▶ measures ──▶ show · compare · gate · diagnose · sweep · experiment · report

`golden/` reads and writes golden sets, `systems/` asks retrievers, `matching` says what counts as found, `judging` turns hits
into judged arrays, `metrics/` computes from those, `statistics` says what a difference means, `runs` keeps everything, and
`run`, `compare`, `gate`, `diagnose`, `sweep/`, `experiment`, `findings`, `report/` and `mine/` are the jobs. Nothing here imports the
finding half; our engine comes in through `systems/assay.py` like any other system.
"""
