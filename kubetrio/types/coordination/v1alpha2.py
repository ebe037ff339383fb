"""Types of coordination/v1alpha2; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.coordination.v1alpha2", __name__)
