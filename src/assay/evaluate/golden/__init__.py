"""Golden sets on disk: read, validated, written, converted. One module per format; `FORMATS` is the table of them.

    load(path) ──▶ detect the format ──▶ read ──▶ validate ──▶ GoldenSet
    save(queries, path, format) ──▶ render ──▶ read back ──▶ replace the file in one step

The formats that people write by hand (fixtures, golden, queries, pairs) are records with other field names: `records` reads
and writes all four from a table. TREC and BEIR are queries and judgements in files of their own: `judgements` joins them.
"""

from assay.evaluate.golden.format import Format
from assay.evaluate.golden.formats import FORMATS, append, convert, detect, digest, load, save
from assay.evaluate.golden.nodes import InvalidGolden

__all__ = ["FORMATS", "Format", "InvalidGolden", "append", "convert", "detect", "digest", "load", "save"]
