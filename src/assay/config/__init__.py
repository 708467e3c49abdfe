"""Settings: the user's configuration, a repository's `assay.toml`, and the trust in it.

`user` reads settings files and holds the user's own; `trust` decides on risky settings of a repository; `servers` binds
keys to servers; `configuration` merges everything; `roots` finds repositories and workspaces.
"""
