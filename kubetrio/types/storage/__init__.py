"""Types of storage."""
