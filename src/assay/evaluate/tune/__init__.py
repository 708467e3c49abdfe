"""Adapting the ranking's numbers to a golden set, and finding out honestly whether that helps.

golden set ──▶ folds ──▶ search (on all but one fold) ──▶ figures of that fold ──▶ verdict ──▶ report
                            └── figures (asking, memory) ──┘

`numbers` is the table of what is tuned, `tuning.tune` the whole story. `folds`, `search` and `verdict` are pure.
"""
