"""The vocabulary: items and edges, golden queries and hits. Plain values, no input or output."""
