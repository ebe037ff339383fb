"""Objects, lists and tables to bytes."""
