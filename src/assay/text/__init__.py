"""Text processing: terms, chunks, sentences, token counts and terminal output."""
