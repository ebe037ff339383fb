"""Types of batch."""
