"""Evaluate chains: resolve an expression to the item, type or module it denotes.

Evaluation follows the language's scopes, imports (through re-exports), declared types, assigned values and inheritance,
and returns a `Value`, or None if it cannot tell. It never guesses: matching by name alone is the resolver's task, and
marked as such.
"""

from __future__ import annotations

from assay.index.expressions.evaluator import Evaluator

__all__ = ["Evaluator"]
