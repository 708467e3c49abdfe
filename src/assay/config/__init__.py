"""Settings: the user's configuration, a repository's `assay.toml`, and the trust in it.

`user` reads settings files and holds the user's own, with the keys of servers; `trust` decides on risky settings of a
repository; `configuration` merges everything; `roots` finds repositories and workspaces; `toml` writes tables.
"""
