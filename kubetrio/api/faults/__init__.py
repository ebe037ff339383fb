"""Faults, where rules of them are in force."""
