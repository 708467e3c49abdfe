"""Golden sets on disk: read, validate, write, convert. `FORMATS` is the table of formats.

    load(path) ──▶ detect the format ──▶ read ──▶ validate ──▶ GoldenSet
    save(queries, path, format) ──▶ render ──▶ read back ──▶ replace the file atomically

The hand-written formats (fixtures, golden, queries, pairs) are records with different field names: `records` reads and
writes a record of all four from a table, `query_files` their files. TREC and BEIR keep queries and
judgements in separate files: `topics` joins them. `imports` reads what other tools write, by the column names in `rows`.
"""

from assay.evaluate.golden.format import Format, InvalidGolden
from assay.evaluate.golden.formats import (
    FORMATS,
    WRITABLE,
    append,
    convert,
    default,
    detect,
    digest,
    load,
    load_records,
    save,
)

__all__ = [
    "FORMATS",
    "WRITABLE",
    "Format",
    "InvalidGolden",
    "append",
    "convert",
    "default",
    "detect",
    "digest",
    "load",
    "load_records",
    "save",
]
