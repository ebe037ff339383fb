"""Encryption of what is stored, as kube-apiserver's ``--encryption-provider-config`` has it."""
