"""Kinds of autoscaling."""
