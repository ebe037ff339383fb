"""Types of certificates."""
