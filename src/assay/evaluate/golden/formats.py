"""The table of golden-set formats."""

from __future__ import annotations

from assay.errors import AssayError
from assay.evaluate.golden.beir import BEIR
from assay.evaluate.golden.fixtures import FIXTURES
from assay.evaluate.golden.format import Format
from assay.evaluate.golden.golden_yaml import GOLDEN
from assay.evaluate.golden.pairs import PAIRS
from assay.evaluate.golden.queries_yaml import QUERIES
from assay.evaluate.golden.trec import TREC
from assay.text.identifiers import nearest

# In the order in which a path is tried.
FORMATS: dict[str, Format] = {one.name: one for one in (FIXTURES, GOLDEN, QUERIES, BEIR, PAIRS, TREC)}


def named(name: str) -> Format:
    """The format of that name, or an error that offers the nearest."""
    if name not in FORMATS:
        near = nearest(name, FORMATS, 1)
        raise AssayError(
            f"unknown golden format `{name}`; "
            + (f"did you mean `{near[0]}`?" if near else f"known are {', '.join(FORMATS)}")
        )
    return FORMATS[name]


def described() -> str:
    """All formats, a line each, for messages."""
    return "\n".join(f"  {one.name:9} {one.description}" for one in FORMATS.values())
