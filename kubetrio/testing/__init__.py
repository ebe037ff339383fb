"""Shipped test helpers: deterministic environments, an in-process client, reference models."""
