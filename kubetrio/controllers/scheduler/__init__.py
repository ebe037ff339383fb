"""A scheduler: which node a pod gets, in the ways of kube-scheduler."""
