"""Values as kube-apiserver has them in etcd, and as this server's store has them."""
