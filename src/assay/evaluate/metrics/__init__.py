"""Metrics over judged runs: measures by name, and the vectorised formulas behind them."""
