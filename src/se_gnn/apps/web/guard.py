"""The guard of an application: it checks who asks, for what and how often, and sets the headers of every answer.

A page on another site can make a browser send requests here. So `Host` must be a name of this server (a site whose
name was made to point here has another one) and `Origin`, if a browser sends it, must be this server, too. No answer
may be framed, sniffed, kept by a cache, or load anything from elsewhere.

The token comes in the header `Authorization` or, for browsers, in a cookie made from it. Texts are compared in constant
time: how long a refusal takes says nothing about the token. Errors are `application/problem+json` (RFC 9457).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from se_gnn.apps.web.settings import WebSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SIGN_IN = "/sign-in"
OPEN_PATHS = ("/healthz", SIGN_IN)  # and the assets: nothing there is secret
ASSETS = "/assets/"
LONGEST_TARGET = 8192  # path and query
BODY_SECONDS = 10.0
COOKIE = "se-gnn-session"
MEDIA_TYPE = "application/problem+json"
MOST_ADDRESSES = 10_000  # that are remembered; the one that asked longest ago is forgotten first

_log = logging.getLogger("se_gnn.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}  # of every answer that has no others


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: Application, settings: WebSettings) -> None:
        self._app, self._settings = app, settings
        self._rate = RateLimit(settings.per_second)
        self._session = None if settings.token is None else Session(settings.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets here
        request, started = Request(scope, receive), False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started, headers = True, MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        body: list[Message] = []

        async def given() -> Message:
            return body.pop() if body else await receive()

        try:
            self._check(request)
            whole = await _whole_body(request, self._settings.most_bytes)
            body.append({"type": "http.request", "body": whole, "more_body": False})
            await self._app(scope, given, answer)
        except Exception as error:
            refusal = _refusal(request, error)
            if started:
                raise
            await refusal(scope, receive, answer)

    def _check(self, request: Request) -> None:
        scope, hosts = request.scope, request.headers.getlist("host")
        if len(hosts) != 1 or not self._settings.allows(hosts[0]):
            raise HTTPException(400, "the header Host must be a name of this server; see --allow-host")
        target = scope.get("raw_path") or scope["path"].encode()
        if len(target) + len(scope.get("query_string", b"")) > LONGEST_TARGET:
            raise HTTPException(414, f"path and query must be at most {LONGEST_TARGET} characters")
        _check_origin(request, hosts[0])
        wait = self._rate.wait_of(request.client.host if request.client else "unknown")
        if wait:
            seconds = str(max(1, math.ceil(wait)))
            raise HTTPException(
                429, f"more than {self._settings.per_second:g} requests a second", headers={"Retry-After": seconds}
            )
        is_open = scope["path"] in OPEN_PATHS or scope["path"].startswith(ASSETS)
        if self._session is not None and not is_open and not self._session.allows(request):
            raise HTTPException(
                401, "this server requires a token: Authorization: Bearer TOKEN", headers={"WWW-Authenticate": "Bearer"}
            )


def _refusal(request: Request, error: Exception) -> Response:
    """What is answered in place of an answer."""
    if not isinstance(error, HTTPException):
        _log.exception("unexpected error")
        error = HTTPException(500, "internal error; the server's log has the details")
    if error.status_code == 401 and request.method == "GET" and wants_page(request):
        return Response(status_code=303, headers={"Location": SIGN_IN})
    return problem_response(error)


def wants_page(request: Request) -> bool:
    """Whether a person asks, with a browser, and not a program."""
    return "text/html" in request.headers.get("accept", "")


def _check_origin(request: Request, host: str) -> None:
    headers = request.headers
    if origin := headers.get("origin"):
        try:
            asked_by = urlsplit(origin).netloc.lower()
        except ValueError:
            asked_by = ""
        if asked_by != host.lower():
            raise HTTPException(403, "the header Origin names another site")
    elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    followed = request.method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
    if elsewhere and not followed:
        raise HTTPException(403, "requests from other sites are refused; only links may lead here")


async def _whole_body(request: Request, most: int) -> bytes:
    """All of a body, which is small."""
    length = request.headers.get("content-length", "")
    too_large = HTTPException(413, f"the body must be at most {most} bytes")
    if length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"the body took longer than {BODY_SECONDS:g} seconds to arrive") from None
    except ClientDisconnect:
        pass  # nobody waits for the answer
    return bytes(body)


class Problem(BaseModel):
    """Why a request has no answer."""

    type: str = Field("about:blank", description="type of the problem; the status describes it")
    title: str = Field(description="the status in words")
    status: int = Field(ge=400, le=599, description="the HTTP status")
    detail: str = Field(description="what is wrong with this request, and what to do")


def problem_response(error: HTTPException) -> Response:
    """The answer to a request that ends with an error."""
    status = error.status_code
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": error.detail}
    return Response(json.dumps(body), status, error.headers, MEDIA_TYPE)


def busy(detail: str, seconds: int = 1) -> HTTPException:
    """The server has too much to do; ask again in some seconds."""
    return HTTPException(503, detail, headers={"Retry-After": str(seconds)})


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (400, 401, 403, 404, 405, 408, 413, 414, 422, 429, 500, 503)
}  # what OpenAPI says of the problems that an operation may answer with


class Session:
    """Knows the token; does not keep who has signed in: the cookie is a keyed digest."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.cookie = hmac.new(self._token, b"se-gnn session 1", hashlib.sha256).hexdigest()
        self.proof = hmac.new(self._token, b"se-gnn form 1", hashlib.sha256).hexdigest()  # of a form

    def is_proof(self, given: str) -> bool:
        """Whether a text is the proof that the forms of this server carry."""
        return hmac.compare_digest(given.encode(), self.proof.encode())

    def is_token(self, given: str) -> bool:
        """Whether a text is the token."""
        return hmac.compare_digest(hashlib.sha256(given.encode()).digest(), hashlib.sha256(self._token).digest())

    def allows(self, request: Request) -> bool:
        """Whether the headers `Authorization` and `Cookie` of a request let it in."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self.cookie.encode())

    def set_cookie(self, *, secure: bool) -> str:
        """The header `Set-Cookie` of somebody who gave the token."""
        return f"{COOKIE}={self.cookie}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"


class RateLimit:
    """Counts the requests of each address: some per second on average, and twice as many at the same moment.

    >>> limit = RateLimit(1, clock=iter([0.0, 0.0, 0.0, 1.5]).__next__)
    >>> [limit.wait_of("a") for _ in range(4)]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, float(max(1, round(2 * per_second))), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address -> tokens, when

    def wait_of(self, address: str) -> float:
        """Seconds until the next request is allowed; 0: this one is."""
        now = self._clock()
        tokens, then = self._buckets.pop(address, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._per_second)
        allowed = tokens >= 1
        self._buckets[address] = (tokens - allowed, now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._per_second
