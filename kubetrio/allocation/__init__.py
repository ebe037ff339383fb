"""Addresses and ports of Services."""
