"""HTML report of a run, optionally with its comparison to another run, readable offline.

    data ──▶ overview · queries · comparison ──▶ page
               │ tables, plots (scales, distributions)
               └ assay.html: elements that escape their content

The page is self-contained: style, SVG plots, and a script that only sorts and filters. Its content security policy
blocks every other script and every request.
"""

from assay.evaluate.report.page import render

__all__ = ["render"]
