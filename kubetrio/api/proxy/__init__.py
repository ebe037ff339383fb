"""Connections to kubelets, pods, services and other API servers."""
