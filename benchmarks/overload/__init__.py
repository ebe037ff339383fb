"""Attacks on a server, and what they leave to those who use it honestly."""
