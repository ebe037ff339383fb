"""Kinds of flowcontrol.apiserver.k8s.io."""
