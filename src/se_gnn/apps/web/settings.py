"""Who may ask, how much, how often and for how long."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import read_file

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN, LONGEST_TOKEN = 16, 4096
LARGEST_BODY = 4 * 2**20  # new rows come in batches


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Limits of a web application, and whom it answers."""

    # names that the header `Host` may have; a browser that was led here by another name is turned away
    hosts: frozenset[str] = LOOPBACK_NAMES
    any_address: bool = False  # a numeric address is taken as well: it cannot be the name of somebody else's site
    token: str | None = None  # what a request has to bring along; None: nothing, which is for loopback alone
    most_bytes: int = LARGEST_BODY  # size of a request's body
    per_second: float = 200.0  # requests of one address, on average; twice as many at the same moment
    seconds: float = 30.0  # how long an answer may take
    workers: int = 2  # threads that compute
    waiting: int = 64  # requests that may wait for one of them

    def allows(self, host: str) -> bool:
        """Whether the header `Host` names this server: case and port do not matter.

        >>> [WebSettings().allows(host) for host in ("LocalHost:8000", "[::1]:80", "evil.example")]
        [True, True, False]
        """
        name = host_name(host)
        if name is None:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))


def host_name(host: str) -> str | None:
    """The name in a header `Host`, or None if it is not valid.

    >>> host_name("a.example:80"), host_name("[::1]"), host_name("::1"), host_name("a b"), host_name("a/b")
    ('a.example', '::1', None, None, None)
    """
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        port = port.removeprefix(":")
    else:
        name, _, port = host.partition(":")
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789.-_:")
    if not name or (port and not port.isdecimal()) or not set(name.lower()) <= allowed:
        return None
    return name.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen on."""
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def settings_for(
    host: str,
    *,
    token_file: Path | None = None,
    allow_hosts: tuple[str, ...] = (),
    limits: Mapping[str, Any] | None = None,
) -> WebSettings:
    """Settings of a server that listens on ``host``; any address but loopback needs a token."""
    token = None if token_file is None else read_token(token_file)
    wrong = next((one for one in allow_hosts if host_name(one) is None), None)
    if wrong is not None:
        raise InputError(f"--allow-host must be a name such as graphs.example.org, got {wrong!r}")
    hosts = LOOPBACK_NAMES | {one.lower() for one in allow_hosts}
    given = limits or {}
    if is_loopback(host):
        return WebSettings(hosts=hosts, token=token, **given)
    if token is None:
        raise InputError(
            f"--host {host} can be reached from other machines: give --token-file FILE with a secret text of at least "
            f"{SHORTEST_TOKEN} characters, or leave --host at 127.0.0.1"
        )
    own = {host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    return WebSettings(hosts=hosts | own, any_address=True, token=token, **given)


def read_token(path: Path) -> str:
    """The token in a file, without the line's end."""
    try:
        text = read_file(path, limit=LONGEST_TOKEN).decode("ascii").strip()
    except UnicodeDecodeError:
        raise InputError(f"--token-file {path} must hold one line of ASCII text") from None
    if len(text) < SHORTEST_TOKEN or not text.isprintable() or " " in text:
        raise InputError(
            f"--token-file {path} must hold one line of at least {SHORTEST_TOKEN} characters without spaces, "
            "such as `openssl rand -hex 32` prints"
        )
    return text


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
