"""Parsed heads and their limits."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubetrio.http.messages import BadRequest, Message, Parser, split_target

HEAD_LIMIT = 2048
BODY_LIMIT = 4096


def parsed(*pieces: bytes) -> Parser:
    parser = Parser(HEAD_LIMIT, BODY_LIMIT)
    for piece in pieces:
        parser.feed(piece)
    return parser


def request(*lines: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join((b"POST /a?b=c HTTP/1.1", b"Host: h", *lines)) + b"\r\n\r\n" + body


def summary(parser: Parser) -> tuple[object, ...]:
    messages = [
        (m.method, m.target, m.raw_headers, b"".join(m.chunks), m.size, m.complete)
        for m in parser.queue
    ]
    return messages, parser.failure and parser.failure.status


def only(parser: Parser) -> Message:
    assert parser.failure is None
    (message,) = parser.queue
    return message


def test_a_request_is_its_parts() -> None:
    """Method, target, lower-case headers and body come out as they went in."""
    message = only(parsed(request(b"X-One: 1", b"Content-Length: 3", body=b"abc")))
    assert (message.method, message.target) == ("POST", b"/a?b=c")
    assert message.headers[b"x-one"] == b"1"
    assert message.chunks == [b"abc"]
    assert message.complete
    assert message.http_11
    assert message.keep_alive


@pytest.mark.parametrize("before", [b"", b" ", b"\t "])
@pytest.mark.parametrize("behind", [b"", b" ", b" \t  "])
def test_blanks_around_values_are_no_part_of_them(before: bytes, behind: bytes) -> None:
    """Those inside are."""
    message = only(parsed(request(b"A:" + before + b"b \tc" + behind, b"B:" + behind)))
    assert (message.headers[b"a"], message.headers[b"b"]) == (b"b \tc", b"")
    assert message.raw_headers[1:] == [(b"a", b"b \tc"), (b"b", b"")]


def test_of_repeated_headers_the_first_counts_and_all_are_kept() -> None:
    """As in Go; those that are about the connection are one list."""
    message = only(
        parsed(request(b"A: 1", b"TE: a", b"a: 2", b"te: b", b"TE: c", b"Content-Length: 0"))
    )
    assert message.headers[b"a"] == b"1"
    assert message.headers[b"te"] == b"a, b, c"
    assert message.raw_headers.count((b"a", b"1")) == 1
    assert message.raw_headers.count((b"a", b"2")) == 1


def test_a_head_is_served_before_its_body_is_here() -> None:
    """A message is queued when its head is complete."""
    message = only(parsed(request(b"Content-Length: 3", body=b"a")))
    assert message.waiting()


def test_chunked_bodies_are_joined() -> None:
    """Chunks, with extensions, become the body."""
    message = only(
        parsed(request(b"Transfer-Encoding: Chunked", body=b"1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n"))
    )
    assert b"".join(message.chunks) == b"abc"
    assert message.complete


def test_trailers_are_not_headers() -> None:
    """A field behind the body must not become an identity (RFC 9110, 6.5.1)."""
    message = only(
        parsed(
            request(
                b"Transfer-Encoding: chunked",
                body=b"0\r\nImpersonate-User: root\r\nHost: other\r\n\r\n",
            )
        )
    )
    assert b"impersonate-user" not in message.headers
    assert all(name != b"impersonate-user" for name, _ in message.raw_headers)
    assert message.complete


def test_bodies_over_the_limit_are_counted_not_kept() -> None:
    """At most the limit and one piece more stay in memory."""
    parser = parsed(request(b"Content-Length: 100000"))
    for _ in range(100):
        parser.feed(b"x" * 1000)
    message = only(parser)
    assert message.size == 100_000
    assert sum(len(piece) for piece in message.chunks) <= BODY_LIMIT + 1000


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"],
        [b"GET /", *[b"a" * 100] * 30],
        [b"GET / HTTP/1.1\r\nHost: h\r\nX: ", *[b"a" * 100] * 30],
        [b"GET / HTTP/1.1\r\nHost: h\r\n", *[b"X: a\r\n"] * 400],
        [b"GET / HTTP/1.1\r\nHost: h\r\n" + b"a" * 100, *[b"a" * 100] * 30],
    ],
    ids=["url", "url in pieces", "value in pieces", "many headers", "name in pieces"],
)
def test_heads_over_the_limit_are_refused_before_they_end(pieces: list[bytes]) -> None:
    """431 as soon as the limit is passed, whatever the head is made of."""
    parser = parsed(*pieces)
    assert parser.failure is not None
    assert parser.failure.status == 431
    assert not parser.queue


def test_many_small_headers_are_refused() -> None:
    """The number of fields is bounded too: each costs more than its bytes."""
    parser = Parser(1 << 20, BODY_LIMIT)
    parser.feed(b"GET / HTTP/1.1\r\nHost: h\r\n" + b"a:\r\n" * 2000)
    assert parser.failure is not None
    assert parser.failure.status == 431


def test_trailers_over_the_limit_are_refused() -> None:
    """A trailer that never ends is a head that never ends."""
    parser = parsed(request(b"Transfer-Encoding: chunked", body=b"0\r\nX: "), *[b"a" * 100] * 30)
    assert parser.failure is not None
    assert parser.failure.status == 431
    assert parser.queue[0].waiting()


def test_a_failure_leaves_the_messages_before_it() -> None:
    """Garbage behind a good request is not the good request's fault."""
    parser = parsed(b"GET /good HTTP/1.1\r\nHost: h\r\n\r\n\x00garbage")
    assert [m.target for m in parser.queue] == [b"/good"]
    assert parser.failure is not None
    assert parser.failure.status == 400


def test_an_upgrade_can_be_told_again() -> None:
    """Another server can read the request and what came behind it."""
    raw = b"GET /a HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n"
    message = parsed(raw + b"frames").queue[0]
    assert message.upgrade
    assert message.wire() == raw + b"frames"


@pytest.mark.parametrize("behind", [b"", b"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"])
def test_connect_is_no_upgrade(behind: bytes) -> None:
    """CONNECT is a method like any other; there is no tunnel to switch to."""
    message = parsed(b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n" + behind).queue[0]
    assert not message.upgrade


def test_expect_is_of_http_11() -> None:
    """An HTTP/1.0 client never gets 100 Continue (RFC 9110, 10.1.1)."""
    old = only(parsed(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"))
    new = only(parsed(request(b"Expect: 100-Continue", b"Content-Length: 1")))
    assert not old.expects_continue
    assert new.expects_continue


SCRIPTS = [
    request(b"Content-Length: 3", body=b"abc") + b"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
    request(b"Transfer-Encoding: chunked", body=b"3\r\nabc\r\n0\r\nT: x\r\n\r\n") + b"bad\x00",
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nHost : h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    request(b"Content-Length: 1", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
]


@pytest.mark.parametrize("raw", SCRIPTS)
def test_cuts_make_no_difference(raw: bytes) -> None:
    """A script split at any one point gives the same messages and the same failure."""
    whole = summary(parsed(raw))
    for at in range(1, len(raw)):
        assert summary(parsed(raw[:at], raw[at:])) == whole, at


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(SCRIPTS),
            st.sampled_from([b"\r\n", b"GET ", b" HTTP/1.1\r\n", b"Host: h\r\n\r\n", b"\x00"]),
        ),
        max_size=8,
    )
)
@example([b"A", SCRIPTS[1]])
@example([b"FROB / HTTP/1.1\r\nHost: h\r\n\r\n\x00"])
@example([b"FROB / HTTP/1.1\r\n\r\n"])
def test_garbage_is_a_failure_or_a_message(pieces: list[bytes]) -> None:
    """No bytes raise, and nothing is read behind a failure."""
    parser = parsed(*pieces)
    if parser.failure is not None:
        queued = len(parser.queue)
        parser.feed(SCRIPTS[0])
        assert len(parser.queue) == queued


FIELDS = (
    b"Host: h\r\nAccept: a\r\n\r\n",
    b"Host: h\r\nAccept: b \r\n\r\n",
    b"host: h\r\n\r\n",
    b"\r\n",
    b"Host: h\r\nConnection: close\r\n\r\n",
    b"Host: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"Host: h\r\nContent-Length: 0\r\n\r\n",
    b"Host: h\r\nContent-Length: 4\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 4\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 2\r\nAccept: a\r\n\r\nab",
    b"Host: h\r\nContent-Length: 0\r\nAccept: a\r\n\r\n",
    b"Host: h\r\nContent-Length: 10\r\nAccept: a\r\n\r\n" + b"\r\n" * 5,
    b"Host: h\r\nContent-Length: 04\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 3\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 5\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 4\r\nContent-Length: 4\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nContent-Length: 17\r\nAccept: a\r\n\r\n" + b"b" * 17,
    b"Host: h\r\nContent-Length: \r\nAccept: a\r\n\r\n",
    b"Host: h\r\nContent-Length: +4\r\nAccept: a\r\n\r\nabcd",
    b"Host: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Host: h\r\nExpect: 100-continue\r\n\r\n",
    b"Host: h\r\n\r\n\r\n",
    b"Host: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
    b"Host: h\r\n folded: x\r\n\r\n",
    b"Host: h\n\n",
)
PLAIN_FIELDS = (*FIELDS[:3], *(fields for fields in FIELDS if b"Accept: a\r\n\r\n" in fields))
LINES = (
    b"GET /a?b=c HTTP/1.1\r\n",
    b"HEAD /%61 HTTP/1.1\r\n",
    b"DELETE / HTTP/1.1\r\n",
    b"POST /a HTTP/1.1\r\n",
    b"FROB /a HTTP/1.1\r\n",
    b"GET /a HTTP/1.0\r\n",
    b"GET /a  HTTP/1.1\r\n",
    b"GET a HTTP/1.1\r\n",
    b"GET /\x7f HTTP/1.1\r\n",
    b"GET /a HTTP/1.1\n",
    b"\r\nGET /a HTTP/1.1\r\n",
    b"GET /" + b"a" * 2040 + b" HTTP/1.1\r\n",
)


@settings(max_examples=400)
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(FIELDS)), max_size=5),
    st.lists(st.tuples(st.sampled_from(LINES[:4]), st.sampled_from(PLAIN_FIELDS)), max_size=5),
)
def test_fields_that_come_again_mean_the_same(
    some: list[tuple[bytes, bytes]], plain: list[tuple[bytes, bytes]]
) -> None:
    """As if llhttp parsed them each time."""
    pieces = [line + fields for line, fields in (*plain, *some, *plain)]
    again, anew = parsed(*pieces), Parser(HEAD_LIMIT, BODY_LIMIT)
    for piece in pieces:
        anew._template = None
        anew.feed(piece)
    assert summary(again) == summary(anew)
    assert [(m.keep_alive, m.upgrade, m.http_11, m.expects_continue) for m in again.queue] == [
        (m.keep_alive, m.upgrade, m.http_11, m.expects_continue) for m in anew.queue
    ]


def test_fields_that_come_again_are_not_parsed_again() -> None:
    """Only those of the message before, and only where the message is as plain."""
    first, second = LINES[0] + FIELDS[0], LINES[1] + FIELDS[0]
    queue = parsed(first, second, LINES[4] + FIELDS[0], first, LINES[0] + FIELDS[1], first).queue
    assert [message.headers is queue[0].headers for message in queue] == [
        True, True, False, True, False, False,
    ]  # fmt: skip
    assert (queue[1].method, queue[1].target) == ("HEAD", b"/%61")


def test_fields_of_bodies_may_differ_in_the_length() -> None:
    """Headers tell the length of their own body, and the body is whole."""
    fields = b"Host: h\r\ncontent-length: %d\r\nAccept: a\r\n\r\n%b"
    bodies = [b"abcd", b"efgh", b"", b"x" * 16]
    calls: list[bytes] = []
    parser = parsed()
    feed = parser._feed

    def counted(data: bytes) -> None:
        calls.append(data)
        feed(data)

    parser._feed = counted  # type: ignore[method-assign]
    for body in bodies:
        parser.feed(LINES[3] + fields % (len(body), body))
    assert len(calls) == 1
    assert [b"".join(message.chunks) for message in parser.queue] == bodies
    assert [message.size for message in parser.queue] == [4, 4, 0, 16]
    assert [message.headers[b"content-length"] for message in parser.queue] == [
        b"4", b"4", b"0", b"16",
    ]  # fmt: skip
    assert [dict(message.raw_headers) for message in parser.queue] == [
        message.headers for message in parser.queue
    ]


@pytest.mark.parametrize("method", [b"FROB", b"GEX", b"get", b"X-1"])
@pytest.mark.parametrize("cut", [0, 1, 2, 3, 5, 30])
def test_any_token_is_a_method(method: bytes, cut: int) -> None:
    """However it is cut into reads; what follows on the connection is read as ever."""
    raw = method + b" /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
    following = b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
    pieces = [raw[:cut], raw[cut:] + following] if cut else [raw + following]
    parser = parsed(*pieces)
    assert parser.failure is None
    first, second = parser.queue
    assert (first.method, first.target) == (method.decode(), b"/a")
    assert (b"".join(first.chunks), first.complete) == (b"hi", True)
    assert (second.method, second.target) == ("GET", b"/b")


def test_an_unknown_method_comes_in_pieces() -> None:
    """Also when the second piece looks like a method of its own."""
    parser = parsed(b"X", b"GET", b" / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert [m.method for m in parser.queue] == ["XGET"]


@pytest.mark.parametrize(
    "raw", [b"FR\x00B / HTTP/1.1\r\n", b"F" * 65 + b" / HTTP/1.1\r\n", b"(GET) / HTTP/1.1\r\n"]
)
def test_what_is_no_token_is_no_method(raw: bytes) -> None:
    """400, as is one that does not end."""
    for pieces in ([raw], [raw[:1], raw[1:]]):
        parser = parsed(*pieces)
        assert parser.failure is not None
        assert parser.failure.status == 400


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (b"/a/b?c=http://d", ("/a/b", "c=http://d")),
        (b"http://h/a?b", ("/a", "b")),
        (b"https://h", ("/", "")),
        (b"http://h?x=/y", ("/", "x=/y")),
        (b"*", ("*", "")),
        (b"/%41%2f%fF?%zz", ("/%41%2f%fF", "%zz")),
    ],
)
def test_targets_are_path_and_query(target: bytes, parts: tuple[str, str]) -> None:
    """A server must take the form that proxies are sent (RFC 9112, 3.2.2)."""
    assert split_target(target) == parts


@pytest.mark.parametrize("target", [b"/%", b"/a%2", b"/%zz/b", b"http://h/%2g?a", b"/%%41"])
def test_a_path_that_is_no_url_is_refused(target: bytes) -> None:
    """A percent sign begins an escape, or nothing (RFC 3986, 2.1)."""
    with pytest.raises(BadRequest) as refused:
        split_target(target)
    assert refused.value.text() == "400 Bad Request"
