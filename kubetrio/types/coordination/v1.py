"""Types of coordination/v1; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.coordination.v1", __name__)
