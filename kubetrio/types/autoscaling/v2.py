"""Types of autoscaling/v2; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.autoscaling.v2", __name__)
