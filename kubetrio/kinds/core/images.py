"""Names of container images, as far as the pull policy depends on them.

Source: the grammar of references in the distribution project, docs "Images" (default pull policy).
"""

from __future__ import annotations

import re

from kubetrio.machinery.remember import remembered

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}
_reference = re.compile(
    rf"(?P<name>{_DOMAIN}/{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<algorithm>[a-z0-9]+):(?P<digest>[0-9a-f]+))?"
)
_identifier = re.compile(r"[a-f0-9]{64}")
_MAX_NAME = 255
_CACHED_IMAGES = 1024


def _normalized(image: str) -> str:
    """The name with the registry and folder that Docker takes for granted."""
    domain, slash, rest = image.partition("/")
    plain = not set(domain) & {".", ":"} and domain != "localhost" and domain == domain.lower()
    if not slash or plain:
        domain, rest = "docker.io", image
    if domain in ("docker.io", "index.docker.io"):
        domain = "docker.io"
        if "/" not in rest:
            rest = f"library/{rest}"
    return f"{domain}/{rest}"


@remembered(_CACHED_IMAGES, 512)
def pull_policy(image: str) -> str:
    """The pull policy of an image that has none.

    Args:
        image: any text; one that is no reference is rejected elsewhere.

    Returns:
        ``Always`` for the tag ``latest``, given or understood; else ``IfNotPresent``.
    """
    match = None if _identifier.fullmatch(image) else _reference.fullmatch(_normalized(image))
    if match is None or len(match["name"]) > _MAX_NAME:
        return "IfNotPresent"
    digest = match["digest"]
    if digest and _DIGESTS.get(match["algorithm"]) != len(digest):
        return "IfNotPresent"
    tag = match["tag"] or ("" if digest else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
