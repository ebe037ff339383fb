"""Types of resource/v1beta2; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.resource.v1beta2", __name__)
