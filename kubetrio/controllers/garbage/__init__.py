"""Garbage collection: objects whose owners are gone go too."""
