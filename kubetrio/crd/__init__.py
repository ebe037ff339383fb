"""Kinds that CustomResourceDefinitions define, at run time."""
