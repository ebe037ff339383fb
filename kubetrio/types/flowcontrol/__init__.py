"""Types of flowcontrol."""
