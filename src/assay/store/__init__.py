"""The index on disk: layout and atomic generations, the catalogue, the edges, and the reader that opens them together."""
