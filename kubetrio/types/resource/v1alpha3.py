"""Types of resource/v1alpha3; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.resource.v1alpha3", __name__)
