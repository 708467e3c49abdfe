"""Golden sets on disk: read, validate, write, convert. `FORMATS` is the table of formats.

    load(path) ──▶ detect the format ──▶ read ──▶ validate ──▶ GoldenSet
    save(queries, path, format) ──▶ render ──▶ read back ──▶ replace the file atomically

The hand-written formats (fixtures, golden, queries, pairs) are records with different field names: `records` reads and
writes a record of all four from a table, `query_files` their files. TREC and BEIR keep queries and
judgements in separate files: `topics` joins them.
"""

from assay.evaluate.golden.format import Format, InvalidGolden
from assay.evaluate.golden.formats import FORMATS, append, convert, default, detect, digest, load, save

__all__ = ["FORMATS", "Format", "InvalidGolden", "append", "convert", "default", "detect", "digest", "load", "save"]
