"""Checks of networking.k8s.io."""
