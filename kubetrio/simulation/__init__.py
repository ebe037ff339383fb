"""Nodes without machines, and the life of the pods on them, as functions of values."""
