"""Golden sets on disk: read, validate, write, convert. One module per format; `FORMATS` is the table of them.

    load(path) ──▶ detect the format ──▶ read ──▶ validate ──▶ GoldenSet
    save(queries, path, format) ──▶ render ──▶ read back ──▶ replace the file atomically

The hand-written formats (fixtures, golden, queries, pairs) are records with different field names: `records` reads and
writes all four from a table. TREC and BEIR keep queries and judgements in separate files: `beir.join` combines them.
"""

from assay.evaluate.golden.format import Format
from assay.evaluate.golden.formats import FORMATS, append, convert, detect, digest, load, save
from assay.evaluate.golden.nodes import InvalidGolden

__all__ = ["FORMATS", "Format", "InvalidGolden", "append", "convert", "detect", "digest", "load", "save"]
