"""Namespaces that are deleted: their content goes, and then they do."""
