from kubetrio.threads import in_thread as in_thread
from kubetrio.threads import run as run

__version__: str
