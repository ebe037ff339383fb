"""A data directory without its server: copies of it, checks, and what it remembers."""

from kubetrio.store.sqlite.versions import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION"]
