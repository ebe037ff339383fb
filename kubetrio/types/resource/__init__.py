"""Types of resource."""
