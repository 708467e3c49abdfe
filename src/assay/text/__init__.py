"""Words: splitting identifiers, and finding the names nearest to one that does not exist."""
