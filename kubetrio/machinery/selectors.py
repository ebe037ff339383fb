"""The selectors of one request, parsed once and only when they are asked for."""

from __future__ import annotations

from kubetrio.machinery import fields, labels


class Selectors:
    """Label and field selector of a request.

    Authorizers and the verb see one reading.  Parsing long ones takes milliseconds, so nothing
    parses them before the request has a seat.

    Args:
        label_text: value of ``labelSelector``.
        field_text: value of ``fieldSelector``.
    """

    __slots__ = ("_fields", "_labels", "field_text", "label_text")

    def __init__(self, label_text: str = "", field_text: str = "") -> None:
        self.label_text = label_text
        self.field_text = field_text
        self._labels: labels.Selector | ValueError | None = None
        self._fields: fields.Selector | ValueError | None = None

    def labels(self) -> labels.Selector:
        """Return the label selector.

        Raises:
            ValueError: it cannot be parsed, in kube-apiserver's words.
        """
        if self._labels is None:
            try:
                self._labels = labels.parse(self.label_text)
            except ValueError as error:
                self._labels = error.with_traceback(None)
        if isinstance(self._labels, ValueError):
            raise self._labels
        return self._labels

    def fields(self) -> fields.Selector:
        """Return the field selector.

        Raises:
            ValueError: it cannot be parsed, in kube-apiserver's words.
        """
        if self._fields is None:
            try:
                self._fields = fields.parse(self.field_text)
            except ValueError as error:
                self._fields = error.with_traceback(None)
        if isinstance(self._fields, ValueError):
            raise self._fields
        return self._fields

    def parse(self) -> None:
        """Parse both now; `labels` and `fields` say what is wrong with them."""
        for one in (self.labels, self.fields):
            try:
                one()
            except ValueError:
                continue  # kept, and raised for the caller
