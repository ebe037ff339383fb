"""Checks of batch."""
