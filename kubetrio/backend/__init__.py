"""Connections that the server itself opens: to kubelets, pods and the endpoints of services."""
