"""Benchmarks of kubetrio, run by hand: `python -m benchmarks` (see README.md beside this file)."""
