"""Types of authorization."""
