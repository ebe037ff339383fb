"""The embedded engine: revisions over SQLite, and the only door to the database."""
