"""Operating system edges: untrusted files and databases, and worker processes."""
