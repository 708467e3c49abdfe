"""Edges from other tools: SCIP indexes made by compilers."""
