"""Types of node."""
