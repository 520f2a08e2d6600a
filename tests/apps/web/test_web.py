"""The guard: hostile headers, size, rate, token; problems for errors; a pool that is full says so."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException

from se_gnn.apps.web import Pages, WebSettings, WorkPool, new_application
from se_gnn.apps.web.server import _listening
from se_gnn.apps.web.settings import read_token, settings_for
from se_gnn.errors import InputError
from web_client import Client

TOKEN = "0123456789abcdef"


def make(**changes) -> FastAPI:
    pages = Pages()
    app = new_application(WebSettings(**changes), pages)

    @app.get("/thing")
    async def thing(number: int = 0) -> dict[str, int]:
        if number == 7:
            raise RuntimeError("secret detail")
        return {"number": number}

    @app.post("/size")
    async def size(request: Request) -> dict[str, int]:
        return {"size": len(await request.body())}

    return app


def ask(app, method, path, **given) -> httpx.Response:
    return Client(app).request(method, path, **given)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "a b", "127.0.0.1@x"]
)
def test_a_host_of_another_name_is_turned_away(host):
    assert ask(make(), "GET", "/thing", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000"])
def test_loopback_names_are_answered(host):
    assert ask(make(), "GET", "/thing", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://[", "file://"])
def test_another_origin_is_turned_away(origin):
    assert ask(make(), "GET", "/thing", headers={"Origin": origin}).status_code == 403
    assert ask(make(), "GET", "/thing", headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200


def test_another_site_may_link_here_but_not_load_from_here():
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(make(), "GET", "/thing", headers=link).status_code == 200
    assert ask(make(), "POST", "/size", headers=link).status_code == 403
    assert ask(make(), "GET", "/thing", headers={**link, "Sec-Fetch-Mode": "no-cors"}).status_code == 403


@pytest.mark.parametrize(
    "path", ["/thing", "/nothing", "/thing?number=x", "/thing?number=7", "/assets/../../etc/passwd", "/" + "a" * 9000]
)
def test_every_answer_has_the_security_headers(path):
    answer = ask(make(), "GET", path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


def test_an_unexpected_error_says_nothing_of_the_inside():
    answer = ask(make(), "GET", "/thing?number=7")
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_a_body_that_is_too_large_is_refused_announced_or_not():
    app = make(most_bytes=100)

    async def pieces():
        for _ in range(30):
            yield b"x" * 10

    assert ask(app, "POST", "/size", content=b"x" * 100).json() == {"size": 100}
    assert ask(app, "POST", "/size", content=b"x" * 101).status_code == 413
    assert ask(app, "POST", "/size", content=pieces()).status_code == 413
    assert ask(app, "POST", "/size", headers={"Content-Length": "9" * 30}).status_code == 413


def test_one_address_may_not_ask_too_often():
    app = make(per_second=0.001)
    statuses = [ask(app, "GET", "/thing") for _ in range(3)]
    assert [answer.status_code for answer in statuses] == [200, 429, 429]
    assert int(statuses[-1].headers["retry-after"]) >= 1


def test_the_token_is_asked_for_in_either_form():
    app = make(token=TOKEN)
    assert ask(app, "GET", "/thing").status_code == 401
    assert ask(app, "GET", "/thing", headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 401
    assert ask(app, "GET", "/thing", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert ask(app, "GET", "/thing", headers={"Cookie": "se-gnn-session=1; =;"}).status_code == 401
    page = ask(app, "GET", "/thing", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in")
    assert "token" in ask(app, "GET", "/sign-in").text
    assert ask(app, "POST", "/sign-in", content=b"token=wrong").status_code == 401
    signed = ask(app, "POST", "/sign-in", content=f"token={TOKEN}".encode())
    cookie = signed.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert ask(app, "GET", "/thing", headers={"Cookie": cookie.split(";")[0]}).status_code == 200


def test_an_address_beyond_loopback_needs_a_token(tmp_path):
    file = tmp_path / "token"
    with pytest.raises(InputError, match="--token-file"):
        settings_for("0.0.0.0")
    file.write_text("short\n")
    with pytest.raises(InputError, match="at least 16 characters"):
        read_token(file)
    file.write_text(TOKEN + "\n")
    wide = settings_for("0.0.0.0", token_file=file, allow_hosts=("graphs.example.org",))
    assert wide.token == TOKEN
    assert wide.allows("graphs.example.org:80")
    assert wide.allows("192.168.1.5:8000")
    assert not wide.allows("evil.example")
    with pytest.raises(InputError, match="--allow-host"):
        settings_for("127.0.0.1", allow_hosts=("a/b",))


def test_no_path_reaches_the_file_system():
    app = make()
    for path in ("/assets/x/page.css", "/assets/..%2f..%2fsettings.py/x", "/assets//etc/passwd", "/%2e%2e/etc/passwd"):
        assert ask(app, "GET", path).status_code == 404
    href = Pages().href("page.css")
    assert ask(app, "GET", href).headers["content-type"].startswith("text/css")


def test_an_error_is_a_page_for_people():
    answer = ask(make(), "GET", "/nothing", headers={"Accept": "text/html,*/*"})
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text


def test_a_full_pool_answers_at_once_and_recovers():
    async def scenario():
        pool = WorkPool(workers=1, waiting=1, seconds=5)
        gate = threading.Event()
        running = [asyncio.create_task(pool.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(HTTPException) as full:
            await pool.run(lambda: 1)
        assert (full.value.status_code, full.value.headers["Retry-After"]) == (503, "1")
        gate.set()
        await asyncio.gather(*running)
        await asyncio.sleep(0.05)
        assert pool.busy == 0
        assert await pool.run(lambda: 1) == 1
        pool.close()

    asyncio.run(scenario())


def test_work_that_takes_too_long_is_answered_and_keeps_its_place():
    async def scenario():
        pool = WorkPool(workers=1, waiting=1, seconds=0.05)
        gate = threading.Event()
        with pytest.raises(HTTPException) as late:
            await pool.run(gate.wait)
        assert late.value.status_code == 503
        assert pool.busy == 1
        with pytest.raises(HTTPException):
            await pool.run(lambda: 1)  # waits behind it; its time ends, too
        gate.set()
        await asyncio.sleep(0.1)
        assert pool.busy == 0
        pool.close()

    asyncio.run(scenario())


def test_answers_are_not_held_back_for_the_readers_acknowledgment():
    with (
        contextlib.closing(_listening("127.0.0.1", 0)) as listening,
        contextlib.closing(socket.create_connection(listening.getsockname())),
    ):
        listening.setblocking(True)
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
