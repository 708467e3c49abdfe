"""Categorised queries YAML: queries with the files and symbols they should bring."""

from __future__ import annotations

from functools import partial

from assay.evaluate.golden import query_list
from assay.evaluate.golden.format import Format
from assay.evaluate.golden.records import Schema

SCHEMA = Schema(query_list.FIELDS)
_HEADER = "# Golden queries: what is asked, and the files and symbols it should bring.\n"

QUERIES = Format(
    "queries",
    "YAML list `queries:` with category, expected_files, expected_symbols",
    partial(query_list.is_query_list, of_passages=False),
    partial(query_list.read, SCHEMA),
    partial(query_list.render, SCHEMA, _HEADER),
    partial(query_list.extend, SCHEMA, _HEADER),
)
