"""Admission: mutate in order, then validate."""
