"""A data directory without its server: copies of it, checks, and what it remembers."""
