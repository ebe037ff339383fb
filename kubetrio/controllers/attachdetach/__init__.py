"""The controller that attaches volumes to nodes, and what it shares with simulated kubelets."""
