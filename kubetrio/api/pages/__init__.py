"""Paths that are not resources."""
