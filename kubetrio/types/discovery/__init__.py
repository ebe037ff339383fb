"""Types of discovery."""
