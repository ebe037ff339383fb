"""Types of meta."""
