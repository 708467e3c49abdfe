"""Questions of commands that a running `assay watch`, `serve` or `mcp` of the same user answers, over a private socket.

client: assay context … ──arguments, folder, environment──▶ server: the same command, in a process that stays
"""
