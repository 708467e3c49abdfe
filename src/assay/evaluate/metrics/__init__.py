"""Metrics over judged runs: measures by name, and their vectorised formulas."""
