"""Response heads and chunks."""

from __future__ import annotations

from kubetrio.http.heads import DateHeader, chunk, head, status_line


def test_date_is_formatted_once_a_second() -> None:
    """The same second gives the same object, the next one another date (RFC 9110, 5.6.7)."""
    date = DateHeader()
    first = date.line(1_700_000_000.1)
    assert first == b"Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
    assert date.line(1_700_000_000.9) is first
    assert date.line(1_700_000_001.0) != first


def test_response_head_has_its_parts_in_order() -> None:
    """Status, identity, type, further headers, date, framing, end."""
    made = head(200, b"t/x", [(b"A", b"b")], b"Content-Length: 0\r\n", b"Date: d\r\n", "id")
    assert made == (
        b"HTTP/1.1 200 OK\r\nAudit-Id: id\r\nContent-Type: t/x\r\nA: b\r\nDate: d\r\n"
        b"Content-Length: 0\r\n\r\n"
    )


def test_unknown_status_codes_have_no_phrase() -> None:
    """Any three digits make a status line."""
    assert status_line(299) == b"HTTP/1.1 299 \r\n"


def test_chunks_tell_their_size_in_hexadecimal() -> None:
    """RFC 9112, 7.1."""
    assert chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
