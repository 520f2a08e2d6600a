"""Clients that take their time."""

from __future__ import annotations

import socket
import urllib.request
from urllib.parse import urlsplit

import pytest

from live_server import serving
from se_gnn.apps.web.server import request_protocol

ANSWER = b"HTTP/1.1 200"


async def hello(scope, receive, send):
    """Answer everything."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture(scope="module")
def address():
    with serving(hello, http=request_protocol(0.3), lifespan="off", timeout_keep_alive=60) as url:
        yield url


def connected(address):
    return socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=10)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_a_connection_without_a_whole_request_is_closed(address, begun):
    with connected(address) as client:
        client.sendall(begun)
        assert client.recv(100) == b""


def test_a_second_request_that_does_not_end_is_no_way_around(address):
    with connected(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        received = client.recv(1000)
        while not received.endswith(b"hello"):
            received += client.recv(1000)
        assert received.startswith(ANSWER)
        client.sendall(b"GET / HT")
        assert client.recv(100) == b""


def test_whole_requests_are_answered(address):
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == b"hello"
