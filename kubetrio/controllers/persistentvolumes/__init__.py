"""Binds claims to volumes, and makes and deletes volumes."""
