"""Tuning of ranking parameters on a golden set, with nested cross-validation to test whether it generalizes.

golden set ──▶ folds ──▶ search (on all but one fold) ──▶ figures of that fold ──▶ verdict ──▶ report
                            └── figures (queries, cache) ──┘

`search` holds the parameters, the folds, the greedy search and the verdict, all pure; `tuning.tune` runs it all.
"""
