"""Golden YAML: queries with the chunks, documents or spans they should bring, and what an answer must say."""

from __future__ import annotations

from functools import partial

from assay.evaluate.golden import query_list
from assay.evaluate.golden.format import Format
from assay.evaluate.golden.records import Schema

SCHEMA = Schema(query_list.FIELDS, negative="doc")
_HEADER = """\
# Golden queries. An entry of expected_doc_ids or expected_chunk_ids is an id, or a mapping {id: …, grade: …}.
# `expected_doc_ids: []` means: nothing in the corpus answers this query, the right answer is a refusal.
"""

GOLDEN = Format(
    "golden",
    "YAML list `queries:` with expected_chunk_ids, expected_doc_ids, must_contain, forbidden",
    partial(query_list.is_query_list, of_passages=True),
    partial(query_list.read, SCHEMA),
    partial(query_list.render, SCHEMA, _HEADER),
    partial(query_list.extend, SCHEMA, _HEADER),
)
