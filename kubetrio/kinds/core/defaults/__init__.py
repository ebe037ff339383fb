"""Defaults of the core group."""
