"""Types of scheduling."""
