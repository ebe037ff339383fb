"""Checks of admissionregistration.k8s.io."""
