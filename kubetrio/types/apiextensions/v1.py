"""Types of apiextensions/v1; made by python -m facts stubs, as the stub beside it."""

from kubetrio.types import lazily

__getattr__ = lazily("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1", __name__)
