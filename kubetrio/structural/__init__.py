"""Structural schemas, and values checked by them."""
