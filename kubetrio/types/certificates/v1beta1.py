"""Types of certificates/v1beta1; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.api.certificates.v1beta1", __name__)
