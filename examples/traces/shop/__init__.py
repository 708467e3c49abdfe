"""Two services of a shop."""
