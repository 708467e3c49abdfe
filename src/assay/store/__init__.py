"""The index on disk: atomic generations of catalogue, edges and postings, and the reader that opens them together."""
