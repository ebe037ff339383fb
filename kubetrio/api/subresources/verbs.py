"""Verbs of subresources and resources that are more, or less, than a stored object.

Looked up in front of the general ones (`api.verbs`), by what a kind or subresource says that it
serves (`Kind.serves`, `Subresource.serves`) and by verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubetrio.api.api import Api
from kubetrio.api.subresources import components as sub_components
from kubetrio.api.subresources import connect as sub_connect
from kubetrio.api.subresources import pods as sub_pods
from kubetrio.api.subresources import reviews as sub_reviews
from kubetrio.api.subresources import scale as sub_scale
from kubetrio.api.subresources import tokens as sub_tokens
from kubetrio.api.verbs import Verb
from kubetrio.api.verbs import verbs_of as general_verbs_of


@dataclass(frozen=True, slots=True)
class Verbs:
    """What answers the requests of one server.

    Args:
        general: by verb.
        special: by what serves a kind or subresource, and verb.
    """

    general: Mapping[str, Verb]
    special: Mapping[tuple[str, str], Verb]


def verbs_of(api: Api) -> Verbs:
    """Return the verbs of a server, bound to the parts that each works with.

    Args:
        api: the parts.
    """
    special = {
        **sub_scale.verbs_of(api),
        **sub_pods.verbs_of(api),
        **sub_connect.verbs_of(api),
        **sub_reviews.verbs_of(api),
        **sub_tokens.verbs_of(api),
        **sub_components.verbs_of(api),
    }
    return Verbs(general_verbs_of(api), special)
