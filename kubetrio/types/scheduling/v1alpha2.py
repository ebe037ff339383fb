"""Types of scheduling/v1alpha2; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.scheduling.v1alpha2", __name__)
