"""Golden-set mining from a repository's history, doc comments and documents.

    history     query = a commit's message          gold = the symbols its diff touches, in the parent's state
    docstrings  query = a doc comment's opening     gold = the symbol it describes
    documents   query = a section's opening         gold = the symbols it names

The caller parses source: a `Locator` returns the definitions in a text. `sample` and `split` select mined queries.
"""

from __future__ import annotations

from assay.evaluate.mine.documents import HELD_OUT, mine_docstrings, mine_documents
from assay.evaluate.mine.history import mine_history
from assay.evaluate.mine.mined import Definition, Locator, Mined, Options, cut, sample, split

__all__ = [
    "HELD_OUT",
    "Definition",
    "Locator",
    "Mined",
    "Options",
    "cut",
    "mine_docstrings",
    "mine_documents",
    "mine_history",
    "sample",
    "split",
]
