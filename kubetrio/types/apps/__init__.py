"""Types of apps."""
