"""Settings from files: the user's own configuration, and how far a repository's `assay.toml` is trusted.

`toml_file` reads a file of settings, whatever it turns out to be. `user` is what the user set for all repositories. `trust` knows
which settings of a repository need the user's word first, and keeps that word. `servers` says which servers may get which key.
"""
