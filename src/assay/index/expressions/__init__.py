"""Evaluate chains: resolve an expression to the item, type or module it denotes.

Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned values and inheritance,
and returns a `Value`, or None if it cannot tell. It never guesses: matching by name alone is the resolver's task, and
marked as such.
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
    """Evaluator of chains, composed of one mixin per concern."""
