"""Types of storagemigration."""
