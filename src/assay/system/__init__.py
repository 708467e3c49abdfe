"""The operating system's edges: files that strangers may have written, and processes that work for another one."""
