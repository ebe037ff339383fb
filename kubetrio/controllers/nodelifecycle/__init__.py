"""Nodes that are silent are told so, and get taints."""
