"""Defaults of authentication.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules, within

TOKENREQUESTS: Rules = (within("spec", Default("expirationSeconds", 3600)),)
