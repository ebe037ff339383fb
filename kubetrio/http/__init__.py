"""Sockets to API values and back: two thin adapters over one pipeline."""
