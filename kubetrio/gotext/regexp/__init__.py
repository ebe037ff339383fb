"""Patterns that clients send: Go's regular expressions, which RE2 runs and nothing else."""
