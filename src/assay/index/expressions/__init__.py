"""Evaluating chains: which item, type or module an expression stands for, as far as names and declared types tell.

A `Value` is what an expression denotes. Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned
values and inheritance. It never guesses: what it cannot tell is None. Guessing by name is the resolver's business, and marked as such.
"""

from __future__ import annotations

from assay.index.chains import type_names
from assay.index.expressions.base import LOCAL, TYPE_LIKE, Ancestry, Value
from assay.index.expressions.expressions import Expressions
from assay.index.expressions.hierarchy import Hierarchy
from assay.index.expressions.imports import Imports
from assay.index.expressions.names import Names
from assay.index.expressions.types import Types

__all__ = ["LOCAL", "TYPE_LIKE", "Ancestry", "Evaluator", "Value", "type_names"]


class Evaluator(Names, Imports, Types, Hierarchy, Expressions):
    """All parts together."""
