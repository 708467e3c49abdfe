"""A run, and perhaps its comparison with another, as one HTML page that opens offline.

    data ──▶ overview · queries · comparison ──▶ page
               │ tables, plots (scales, distributions), wording
               └ markup: elements that escape what they hold

Everything is in the page: style, plots as SVG, and a script that only sorts and filters. A content security policy lets no
other script run and nothing be fetched.
"""

from assay.evaluate.report.page import render

__all__ = ["render"]
