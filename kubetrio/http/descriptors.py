"""How many files, and so connections, the process may have open (getrlimit(2), RLIMIT_NOFILE)."""

from __future__ import annotations

import contextlib

UNKNOWN = 1024  # where the system does not say
MOST = 1 << 20


def allowed() -> int:
    """File descriptors that the process may have now."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return UNKNOWN
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else min(soft, MOST)


def allow_all() -> None:
    """Raise the soft limit to the hard one, which needs no privilege.

    Only a program of its own does this: code that uses select(2) breaks on high descriptors, so an
    embedding program decides for itself.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):  # it stays as it is
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        target = MOST if hard == resource.RLIM_INFINITY else hard
        if soft != resource.RLIM_INFINITY and soft < target:
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
