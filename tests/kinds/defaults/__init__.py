"""Defaults and preparation; a package, so that its modules may be named as those of others."""
