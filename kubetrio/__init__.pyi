from kubetrio.threads import in_thread as in_thread
from kubetrio.threads import run as run

__all__ = ["__version__", "in_thread", "run"]
__version__: str
