"""A network of the tests' own."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

GET = requests.get


@pytest.fixture
def serve(monkeypatch, private_cache):
    """Answer downloads with ``content_of(file name)`` from a server of this machine; gives the urls asked for."""
    with contextlib.ExitStack() as stack:

        def answer(content_of, *, announced=None):
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self):
                    content = content_of(self.path.rsplit("/", 1)[1])
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(content) if announced is None else announced))
                    self.end_headers()
                    self.wfile.write(content)

                def log_message(self, *_):
                    """Say nothing."""

            server = stack.enter_context(HTTPServer(("127.0.0.1", 0), Handler))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            asked = []

            def get(url, **options):
                asked.append(url)
                return GET(f"http://127.0.0.1:{server.server_port}/{url.rsplit('/', 1)[1]}", **options)

            monkeypatch.setattr(requests, "get", get)
            return asked

        yield answer
