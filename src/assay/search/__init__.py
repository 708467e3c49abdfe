"""Search: document passages and code definitions in one ranking."""
