"""What kubelets may do: the Node authorizer."""
