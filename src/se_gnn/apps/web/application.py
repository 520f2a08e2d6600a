"""A FastAPI application behind its guard: errors as problems or pages, styles and scripts, and a way to sign in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from se_gnn import __version__
from se_gnn.apps.web.guard import SIGN_IN, Guard, Session, problem_response, wants_page
from se_gnn.apps.web.settings import WebSettings
from se_gnn.errors import InputError
from se_gnn.report.templating import page_environment

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class Pages:
    """Templates and assets of some packages, those of the report and of `se_gnn.apps.web` included.

    Assets are the files in the folders `assets`, read once, and those that are ``made``; :meth:`href` changes with
    their content, so that browsers may keep them.
    """

    def __init__(self, packages: Iterable[str] = (), made: Mapping[str, bytes] | None = None) -> None:
        every = [*packages, "se_gnn.apps.web", "se_gnn.report"]
        files = [file for one in reversed(every) for file in resources.files(one).joinpath("assets").iterdir()]
        self._files = {file.name: file.read_bytes() for file in files if file.name.endswith(tuple(TYPES))}
        self._files |= made or {}
        digest = hashlib.sha256()
        for name in sorted(self._files):
            digest.update(name.encode() + b"\0" + self._files[name])
        self._version = digest.hexdigest()[:12]
        self.environment = page_environment(every)
        self.environment.globals.update(asset=self.href, version=__version__)

    def href(self, name: str) -> str:
        """Where a page finds a file. Modules import their neighbors by name, so the version is a folder."""
        if name not in self._files:
            raise KeyError(name)
        return f"/assets/{self._version}/{name}"

    def html(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page."""
        text = self.environment.get_template(template).render(**values)
        return Response(text, status_code=status, media_type="text/html; charset=utf-8")

    def serve_assets(self, app: FastAPI) -> None:
        """Answer for the files."""

        @app.get("/assets/{version}/{name}", include_in_schema=False)
        async def asset(version: str, name: str) -> Response:
            if version != self._version or name not in self._files:
                raise HTTPException(404, "there is no such asset")
            keep = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(self._files[name], media_type=TYPES[name[name.rfind(".") :]], headers=keep)


def new_application(settings: WebSettings, pages: Pages, **about: Any) -> FastAPI:
    """An application without routes of its own yet; ``about`` is FastAPI's title, description and the like."""
    app = FastAPI(docs_url=None, redoc_url=None, **about)
    app.add_middleware(Guard, settings=settings)
    pages.serve_assets(app)
    _answer_errors(app, pages)
    if settings.token is not None:
        _sign_in(app, pages, Session(settings.token))
    return app


def _answer_errors(app: FastAPI, pages: Pages) -> None:
    usual = {"Not Found": "there is nothing at this address", "Method Not Allowed": "this address takes another method"}

    @app.exception_handler(HTTPException)
    async def problem(request: Request, error: HTTPException) -> Response:
        error.detail = usual.get(error.detail, error.detail)
        if not wants_page(request):
            return problem_response(error)
        page = pages.html("problem.html", status=error.status_code, code=error.status_code, detail=error.detail)
        page.headers.update(error.headers or {})
        return page

    @app.exception_handler(InputError)
    async def mistake(request: Request, error: InputError) -> Response:
        return await problem(request, HTTPException(400, str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return await problem(request, HTTPException(422, "; ".join(_in_words(one) for one in error.errors()[:5])))


def _in_words(error: dict[str, Any]) -> str:
    """One error of validation; what was given is not repeated, it may be long."""
    where = ".".join(str(part) for part in error["loc"] if part not in ("query", "path", "body"))
    return f"{where or 'the body'}: {error['msg']}"


def _sign_in(app: FastAPI, pages: Pages, session: Session) -> None:
    @app.get(SIGN_IN, include_in_schema=False)
    async def ask() -> Response:
        return pages.html("sign_in.html", wrong=False)

    @app.post(SIGN_IN, include_in_schema=False)
    async def check(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=4)
        if not session.is_token(form.get("token", [""])[0].strip()):
            return pages.html("sign_in.html", status=401, wrong=True)
        cookie = session.set_cookie(secure=request.url.scheme == "https")
        return Response(status_code=303, headers={"Location": "/", "Set-Cookie": cookie})
