"""Types of apiextensions."""
