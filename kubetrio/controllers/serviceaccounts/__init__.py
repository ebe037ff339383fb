"""Controllers of service accounts and their tokens."""
