"""Fuzzing with mutated repositories and the real commands: no traceback, no hang, no process above a gigabyte."""
