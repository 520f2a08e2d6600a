"""A cache folder and a network of the tests' own."""

from __future__ import annotations

import io
import urllib.error
from email.message import Message

import pytest

from se_gnn.datasets import raw_files


@pytest.fixture
def private_cache(tmp_path, monkeypatch):
    """Neither the user's cache is read or written nor the network reached."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SE_GNN_DATA", raising=False)

    def no_network(url, timeout):
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(raw_files.urllib.request, "urlopen", no_network)
    return tmp_path / "cache" / "se-gnn"


@pytest.fixture
def serve(monkeypatch, private_cache):
    """Answer downloads with ``content_of(file name)``; gives the list of urls asked for."""

    def answer(content_of, *, announced=None):
        asked = []

        def urlopen(url, timeout):
            asked.append(url)
            content = content_of(url.rsplit("/", 1)[1])
            response = io.BytesIO(content)
            response.headers = Message()
            response.headers["Content-Length"] = str(len(content) if announced is None else announced)
            return response

        monkeypatch.setattr(raw_files.urllib.request, "urlopen", urlopen)
        return asked

    return answer
