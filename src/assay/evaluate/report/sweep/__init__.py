"""HTML page of a sweep: recommendations, configurations and per-query results, readable offline.

Rendered from the comparison report that `eval sweep` writes, with the tables, scales and style of the run report.
"""

from assay.evaluate.report.sweep.tables import render

__all__ = ["render"]
