"""Packing: ranked items rendered into a token budget."""
