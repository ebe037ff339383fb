"""Verbs of subresources and resources that are more, or less, than a stored object.

Looked up in front of the general ones (`api.verbs`), by what a kind or subresource says that it
serves (`Kind.serves`, `Subresource.serves`) and by verb.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.api.subresources import components as sub_components
from kubetrio.api.subresources import connect as sub_connect
from kubetrio.api.subresources import pods as sub_pods
from kubetrio.api.subresources import reviews as sub_reviews
from kubetrio.api.subresources import scale as sub_scale
from kubetrio.api.subresources import tokens as sub_tokens
from kubetrio.api.verbs import Verb

SUBVERBS: Mapping[tuple[str, str], Verb] = {
    **sub_scale.VERBS,
    **sub_pods.VERBS,
    **sub_connect.VERBS,
    **sub_reviews.VERBS,
    **sub_tokens.VERBS,
    **sub_components.VERBS,
}
