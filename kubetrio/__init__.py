"""kubetrio: the Kubernetes API server you can ``pip install``."""

__all__ = ["__version__", "in_thread", "run"]
__version__ = "0.1.0"
_THREADS = ("in_thread", "run")


def __getattr__(name: str) -> object:
    """Load what is for embedding when it is asked for: importing the package costs nothing."""
    if name in _THREADS:
        from importlib import import_module  # by its name: no room depends on all the others

        return getattr(import_module("kubetrio.threads"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
