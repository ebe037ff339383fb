"""Checks of resource.k8s.io."""
