"""The life of an object: recipes of writes, listing and watching."""
