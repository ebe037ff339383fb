"""Types of authentication."""
