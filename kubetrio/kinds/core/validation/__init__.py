"""Checks of the core group."""
