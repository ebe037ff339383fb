"""Addresses, ports and families of Services."""
