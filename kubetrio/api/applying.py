"""Server-side apply: the configuration of a request.

Source: docs "Server-Side Apply"; KEP-555.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubetrio.api import bodies
from kubetrio.api.request import Request, truthy
from kubetrio.machinery.status import bad_request
from kubetrio.resources.operations import Configuration
from kubetrio.wire import cborwire, gojson
from kubetrio.wire.negotiate import APPLY_CBOR_PATCH

if TYPE_CHECKING:
    from kubetrio.wire import yamlwire

Object = dict[str, Any]


def _configuration(request: Request) -> yamlwire.Document:
    """The applied configuration, as sent.

    Raises:
        ApiError: 400, not YAML or JSON, or not an object.
    """
    from kubetrio.wire import yamlwire

    if request.patch_type == APPLY_CBOR_PATCH:
        try:
            return _object(yamlwire.Document(cborwire.decode(request.body)), "CBOR")
        except ValueError as error:
            raise bad_request(f"error decoding CBOR: {error}") from None
    try:
        document = yamlwire.decode(request.body)
    except yamlwire.YamlError as error:
        raise bad_request(f"error decoding YAML: {CONVERTING}{error}") from None
    return _object(document, "YAML")


def _object(document: yamlwire.Document, language: str) -> yamlwire.Document:
    """A document that is an object, or nothing.

    Raises:
        ApiError: 400.
    """
    if document.value is not None and not isinstance(document.value, dict):
        word = gojson.type_word(document.value)
        raise bad_request(
            f"error decoding {language}: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    return document


CONVERTING = "error converting YAML to JSON: "


def _check_strict(request: Request, document: yamlwire.Document) -> None:
    """Refuse repeated keys, or warn of them, as ``fieldValidation`` says.

    Raises:
        ApiError: 400 for ``Strict``.
    """
    if not document.duplicates:
        return
    validation = request.query.get("fieldValidation") or "Warn"
    if validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {CONVERTING}{document.strict_error}")
    if validation == "Warn":
        bodies.warn_strict(request, [f"{CONVERTING}{document.strict_error}"])


def configuration_of(request: Request) -> Configuration:
    """The configuration that a request applies, for `Operations.apply`.

    Args:
        request: the request; its body is the configuration.
    """
    document: yamlwire.Document | None = None

    def read() -> Object:
        nonlocal document
        document = _configuration(request)
        return document.value or {}

    def check() -> None:
        if document is not None:
            _check_strict(request, document)

    return Configuration(read, check, truthy(request.query.get("force", "0")))
