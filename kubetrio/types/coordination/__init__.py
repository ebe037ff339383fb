"""Types of coordination."""
