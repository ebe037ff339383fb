"""DaemonSets have a pod on each node."""
