"""The contract of the store: keys, bytes and revisions, whatever engine is behind it."""
