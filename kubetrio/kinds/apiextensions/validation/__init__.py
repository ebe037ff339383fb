"""Checks of apiextensions.k8s.io."""
