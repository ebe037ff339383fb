"""Subresources with verbs of their own."""
