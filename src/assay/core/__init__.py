"""The vocabulary: items and edges. Plain values, no input or output."""
