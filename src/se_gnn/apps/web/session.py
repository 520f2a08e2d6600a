"""The token of a request: in the header `Authorization`, or, for browsers, in a cookie made from it.

Texts are compared in constant time: how long a refusal takes says nothing about the token.
"""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

COOKIE = "se-gnn-session"


class Session:
    """Knows the token; does not keep who has signed in: the cookie is a keyed digest."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.cookie = hmac.new(self._token, b"se-gnn session 1", hashlib.sha256).hexdigest()

    def is_token(self, given: str) -> bool:
        """Whether a text is the token."""
        return hmac.compare_digest(hashlib.sha256(given.encode()).digest(), hashlib.sha256(self._token).digest())

    def allows(self, authorization: str, cookies: str) -> bool:
        """Whether the headers `Authorization` and `Cookie` of a request let it in."""
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        try:
            held = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        return held is not None and hmac.compare_digest(held.value.encode(), self.cookie.encode())

    def set_cookie(self, *, secure: bool) -> str:
        """The header `Set-Cookie` of somebody who gave the token."""
        return f"{COOKIE}={self.cookie}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
