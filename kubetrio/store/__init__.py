"""MVCC over SQLite: keys, bytes and revisions; the only door to the database."""
