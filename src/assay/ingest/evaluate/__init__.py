"""Evaluating chains: which item, type or module an expression stands for, as far as names and declared types tell.

A `Value` is what an expression denotes. Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned
values and inheritance. It never guesses: what it cannot tell is None. Guessing by name is the resolver's business, and marked as such.
"""

from __future__ import annotations

from assay.ingest.evaluate.base import LOCAL, TYPE_LIKE, Ancestry, Value
from assay.ingest.evaluate.expressions import Expressions
from assay.ingest.evaluate.hierarchy import Hierarchy
from assay.ingest.evaluate.imports import Imports
from assay.ingest.evaluate.names import Names
from assay.ingest.evaluate.type_text import type_names
from assay.ingest.evaluate.types import Types

__all__ = ["LOCAL", "TYPE_LIKE", "Ancestry", "Evaluator", "Value", "type_names"]


class Evaluator(Names, Imports, Types, Hierarchy, Expressions):
    """All parts together."""
