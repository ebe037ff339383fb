"""Verbs of subresources and resources that are more, or less, than a stored object.

Looked up in front of the general ones (`api.verbs`), by what a kind or subresource says that it
serves (`Kind.serves`, `Subresource.serves`) and by verb.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.api import (
    sub_components,
    sub_connect,
    sub_pods,
    sub_reviews,
    sub_scale,
    sub_tokens,
)
from kubetrio.api.verbs import Verb

SUBVERBS: Mapping[tuple[str, str], Verb] = {
    **sub_scale.VERBS,
    **sub_pods.VERBS,
    **sub_connect.VERBS,
    **sub_reviews.VERBS,
    **sub_tokens.VERBS,
    **sub_components.VERBS,
}
