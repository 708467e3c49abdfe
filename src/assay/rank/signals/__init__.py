"""Signals: the contributions to a candidate's score, one module each."""
