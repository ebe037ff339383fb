"""Pods leave nodes whose taints they do not stand."""
