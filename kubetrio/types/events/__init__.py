"""Types of events."""
