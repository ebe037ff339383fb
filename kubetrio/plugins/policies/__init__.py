"""Admission policies in CEL, as plugins."""
