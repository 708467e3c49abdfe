"""Signals: what contributes to the score of a candidate, one module each."""
