"""A sweep as one HTML page that opens offline: what to take, every configuration, and every query in each of them.

Drawn from the comparison report that `eval sweep` writes, with the tables, scales and style of the report of a run.
"""

from assay.evaluate.report.sweep.tables import render

__all__ = ["render"]
