"""Admission plugins about kinds of the core group."""
