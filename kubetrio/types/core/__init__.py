"""Types of core."""
