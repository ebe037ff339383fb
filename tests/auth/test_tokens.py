"""Bearer headers and static token files."""

import contextlib
import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.auth.tokens import (
    EXTRA_SPACE_WARNING,
    TOKEN_PROTOCOL,
    BadProtocol,
    Bearer,
    StaticTokens,
    TokenFileError,
    parse_bearer,
    parse_token_file,
    protocol_token,
)
from kubetrio.machinery.identity import UserInfo


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer abc", b"abc"),
        (b"bearer abc", b"abc"),
        (b"BEARER abc", b"abc"),
        (b"  Bearer abc  ", b"abc"),
        (b"Bearer abc def", b"abc"),
        (b"Bearer \xff\xfe", b"\xff\xfe"),
        (b"", None),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"Bearer\tabc", None),
        (b"Basic YTpi", None),
        (b"abc", None),
    ],
)
def test_bearer_rules(header: bytes, token: bytes | None) -> None:
    """The scheme's case does not matter, and only a bearer token that is there counts."""
    assert parse_bearer(header) == Bearer(token)


def test_extra_space_is_no_token_and_warns() -> None:
    """Two spaces make an empty token: no credentials, and the client is told."""
    assert parse_bearer(b"Bearer  abc") == Bearer(None, EXTRA_SPACE_WARNING)


@pytest.mark.parametrize(
    ("protocols", "token"),
    [
        ("", b""),
        ("v4.channel.k8s.io, base64.binary.k8s.io", b""),
        (f"{TOKEN_PROTOCOL}YWI, binary.k8s.io", b"ab"),
        (f"binary.k8s.io ,{TOKEN_PROTOCOL}_-A", None),  # not UTF-8
        (f"binary.k8s.io,{TOKEN_PROTOCOL}w78_", "\u00ff?".encode()),
        (f"{TOKEN_PROTOCOL}, binary.k8s.io", b""),
        (f"{TOKEN_PROTOCOL}YWI=, binary.k8s.io", None),
        (f"{TOKEN_PROTOCOL}YWIYW, binary.k8s.io", None),
        (f"{TOKEN_PROTOCOL}Y+I, binary.k8s.io", None),
        (f"{TOKEN_PROTOCOL}YWI", None),
        (f"{TOKEN_PROTOCOL}YWI, {TOKEN_PROTOCOL}YWI, binary.k8s.io", None),
    ],
)
def test_tokens_among_subprotocols(protocols: str, token: bytes | None) -> None:
    """One, encoded without padding, and another subprotocol to agree on; None for a bad one."""
    if token is None:
        with pytest.raises(BadProtocol):
            protocol_token(protocols.encode())
    else:
        assert protocol_token(protocols.encode()) == token


def user_of(tokens: StaticTokens, token: bytes) -> UserInfo | None:
    """Whose a token is."""
    found = tokens.authenticate_token(token, ("a",))
    assert found is None or found.audiences == ("a",)
    return None if found is None else found.user


def test_columns() -> None:
    """Three columns are a user, a fourth its groups, further ones nothing."""
    tokens = parse_token_file(b'a,alice,u1\nb,bob,u2,"devs,ops"\nc,carol,u3,one,two\n', "f")
    assert user_of(tokens, b"a") == UserInfo("alice", "u1")
    assert user_of(tokens, b"b") == UserInfo("bob", "u2", ("devs", "ops"))
    assert user_of(tokens, b"c") == UserInfo("carol", "u3", ("one",))
    assert user_of(tokens, b"d") is None
    assert tokens.warnings == ()


def test_fields_are_not_trimmed() -> None:
    """White space belongs to a field."""
    tokens = parse_token_file(b" a , alice , u1 \n", "f")
    assert user_of(tokens, b" a ") == UserInfo(" alice ", " u1 ")
    assert user_of(tokens, b"a") is None


def test_an_empty_group_column_is_one_empty_group() -> None:
    """A fourth column without text names the empty group, as kube-apiserver has it."""
    assert user_of(parse_token_file(b"a,alice,u1,\n", "f"), b"a") == UserInfo("alice", "u1", ("",))


def test_empty_lines_do_not_count_as_records() -> None:
    """Blank lines and both line ends are fine, and record numbers count records."""
    tokens = parse_token_file(b"\r\na,alice,u1\r\n\n\n,nobody,u2\n", "f")
    assert user_of(tokens, b"a") == UserInfo("alice", "u1")
    assert tokens.warnings == ("empty token has been found in token file 'f', record number '2'",)


def test_an_empty_token_is_nobody() -> None:
    """A record without token is skipped: no header can claim it."""
    assert user_of(parse_token_file(b",root,0,system:masters\n", "f"), b"") is None


def test_the_last_of_equal_tokens_counts() -> None:
    """A repeated token belongs to its last user, with a warning."""
    tokens = parse_token_file(b"a,alice,u1\na,bob,u2\n", "f")
    assert user_of(tokens, b"a") == UserInfo("bob", "u2")
    assert tokens.warnings == (
        "duplicate token has been found in token file 'f', record number '2'",
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a,alice,u1\n\nb,bob\n",
            (
                "token file 'f' must have at least 3 columns (token, user name, user uid), "
                "found 2 on line 3"
            ),
        ),
        (
            b'a,alice,u1\nb"x,bob,u2\n',
            "token file 'f': parse error on line 2, column 2: bare \" in non-quoted field",
        ),
        (
            b'a,alice,u1, "g,h"\n',
            "token file 'f': parse error on line 1, column 13: bare \" in non-quoted field",
        ),
        (
            b'"a"b,alice,u1\n',
            (
                "token file 'f': parse error on line 1, column 3: "
                'extraneous or missing " in quoted-field'
            ),
        ),
        (
            b'x,y,z\na,alice,u1,"g\nh',
            (
                "token file 'f': record on line 2; parse error on line 3, column 2: "
                'extraneous or missing " in quoted-field'
            ),
        ),
    ],
)
def test_errors_name_file_and_line(data: bytes, message: str) -> None:
    """What stops the server says where it is."""
    with pytest.raises(TokenFileError) as caught:
        parse_token_file(data, "f")
    assert str(caught.value) == message


def test_an_empty_file_has_no_users() -> None:
    """A file without lines is valid."""
    assert user_of(parse_token_file(b"", "f"), b"") is None


_column = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(_column.filter(bool), _column, _column, _column), max_size=4))
def test_well_formed_csv_is_read_back(rows: list[tuple[str, str, str, str]]) -> None:
    """Whatever a CSV writer makes of columns is read as these columns."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    tokens = parse_token_file(out.getvalue().encode(), "f")
    for token, name, uid, groups in {row[0]: row for row in rows}.values():
        expected = UserInfo(name, uid, tuple(groups.split(",")))
        assert user_of(tokens, token.encode()) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b"\r\n", b"x,y,z\n"]), max_size=12))
def test_any_bytes_are_read_or_refused(pieces: list[bytes]) -> None:
    """No input fails in another way than with the documented error."""
    with contextlib.suppress(TokenFileError):
        parse_token_file(b"".join(pieces), "f")
