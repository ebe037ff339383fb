"""Scales workloads by metrics."""
