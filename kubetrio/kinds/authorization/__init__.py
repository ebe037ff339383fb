"""Kinds of authorization.k8s.io."""
