"""Deployments roll out their ReplicaSets."""
