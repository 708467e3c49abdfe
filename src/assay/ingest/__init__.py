"""From files to items and edges: walking, extracting, resolving. `pipeline` tells the whole story."""
