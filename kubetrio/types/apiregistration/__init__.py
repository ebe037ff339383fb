"""Types of apiregistration."""
