"""Search: passages of documents and definitions of code in one ranking."""
