"""Certificates, keys and PEM."""
