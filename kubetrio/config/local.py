"""Flags of listening on this machine alone, without TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE, PORT, Kind

GUIDE = "../how-to/embed.md"
MOST_BYTES = 107  # of the path of a Unix socket, on Linux; others take fewer


def _mode(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError:
        raise ValueError(f"invalid mode {text!r}: an octal number such as 0660") from None


def _is_mode(value: Any) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0o777
    return "" if fits else "is no mode of a file between 0 and 0o777"


def _port_or_none(value: Any) -> str:
    return "" if value is None else PORT.check(value)


SOCKET = FILE._replace(placeholder="SOCKET")
MODE = Kind(placeholder="MODE", parse=_mode, check=_is_mode, show="{:04o}".format)
MAYBE_PORT = PORT._replace(
    check=_port_or_none, show=lambda value: "" if value is None else str(value)
)


def _path_fits(chosen: Section) -> ConfigError | None:
    assert isinstance(chosen, Local)  # noqa: S101 (a rule of that section)
    path = chosen.unix_socket
    if path is None or len(str(path).encode()) <= MOST_BYTES:
        return None
    why = f"has more than {MOST_BYTES} bytes, which no path of a socket may have"
    return error_of(Local, ("unix_socket",), why)


@section
class Local(Section):
    """Where else the server listens; see the reference of flags."""

    TITLE: ClassVar[str] = "listening without TLS"
    RULES: ClassVar[tuple[Rule, ...]] = (_path_fits,)

    secure_serving: bool = flag(
        "secure-serving", BOOLEAN, True, "listen on the secure port",
        more="Without it and the flags below, only the program that embeds the server reaches it.",
    )  # fmt: skip
    unix_socket: Path | None = flag(
        "unix-socket", SOCKET, None, "also listen on a Unix socket, without TLS",
        more="The operating system names the user of the client: the server's own user and root "
        f"are administrators, others `system:unix:UID`. See [sockets]({GUIDE}#other-sockets).",
    )  # fmt: skip
    unix_socket_mode: int = flag(
        "unix-socket-mode", MODE, 0o600, "who may connect to it, as the mode of a file"
    )
    plain_port: int | None = flag(
        "plain-port", MAYBE_PORT, None,
        "also listen on this port of the loopback address, without TLS: each process that reaches "
        "it is administrator; 0 takes any free one",
        more="That is each user of this machine, but for browsers: requests "
        "with an `Origin`, or for another host than the loopback address, count as anonymous.",
    )  # fmt: skip
