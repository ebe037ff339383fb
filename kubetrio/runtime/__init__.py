"""Supervised tasks, exception groups, whole files, and budgets of steps."""
