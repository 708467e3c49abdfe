"""Mutated repositories, fed to the real commands: no traceback, no hang, no process above a gigabyte. `make fuzz` runs it."""
