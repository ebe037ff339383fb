"""Defaults and create/update preparation of every built-in kind."""

from kubetrio.resources.defaults.context import Context
from kubetrio.resources.defaults.strategy import prepare_create, prepare_update
from kubetrio.resources.defaults.tables import apply_defaults, defaults_of

__all__ = ["Context", "apply_defaults", "defaults_of", "prepare_create", "prepare_update"]
