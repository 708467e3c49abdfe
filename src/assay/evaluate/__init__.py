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

`workbench` is the Python API over all of it. The package may be called: `assay.evaluate(golden, system)` is
`workbench.evaluate`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """The function `assay.evaluate` has the name of this package, so the package is callable."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from assay.evaluate.workbench import evaluate

        return evaluate(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
