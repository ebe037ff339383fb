"""The engine on etcd v3."""
