"""Reads the hand-written tables of the fixture projects, and makes the same tables from an index of the project."""
