"""What envtest of controller-runtime, and what is made like it, starts in place of its binaries.

It looks for ``kube-apiserver``, ``etcd`` and ``kubectl`` in ``KUBEBUILDER_ASSETS``.  `assets` lays
them into a directory: the first two are scripts that run `apiserver` and `etcd` of this package.
"""
