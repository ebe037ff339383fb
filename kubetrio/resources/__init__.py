"""The life of an object: strategies, lifecycle, listing and watching."""
