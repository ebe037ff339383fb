"""Clusters by name: ``kubetrio create``, ``start``, ``list`` and ``delete``.

A cluster is a directory under the user's state directory with the data directory of a server and
the flags it is started with, a file as ``serve --config`` reads it.  Everything else (lock, log,
kubeconfig) is what ``kubetrio serve`` makes of them.
"""
