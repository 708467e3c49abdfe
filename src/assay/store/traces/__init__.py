"""Observed calls: traces of running services, aggregated and bounded, in one SQLite file beside the generations."""
