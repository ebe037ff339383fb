"""Gives nodes the addresses of their pods."""
