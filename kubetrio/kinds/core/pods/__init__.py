"""Pods: bound, evicted, their conditions."""
