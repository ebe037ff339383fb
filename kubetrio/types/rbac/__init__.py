"""Types of rbac."""
