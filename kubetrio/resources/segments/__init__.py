"""Lists from memory: collections in immutable segments, encoded once for all who ask."""
