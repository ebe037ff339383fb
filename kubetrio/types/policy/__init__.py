"""Types of policy."""
