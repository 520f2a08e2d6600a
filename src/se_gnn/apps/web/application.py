"""A FastAPI application behind its guard, with problems for errors, assets, and a way to sign in."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from se_gnn.apps.web.guard import SIGN_IN, Guard
from se_gnn.apps.web.pages import Pages, wants_page
from se_gnn.apps.web.problems import MEDIA_TYPE, ProblemError, problem_bytes
from se_gnn.apps.web.session import Session
from se_gnn.apps.web.settings import WebSettings
from se_gnn.errors import InputError


def new_application(settings: WebSettings, pages: Pages, **about: Any) -> FastAPI:
    """An application without routes of its own yet; ``about`` is FastAPI's title, description and the like."""
    app = FastAPI(docs_url=None, redoc_url=None, **about)
    app.add_middleware(Guard, settings=settings)
    pages.assets.serve(app)
    _answer_errors(app, pages)
    if settings.token is not None:
        _sign_in(app, pages, Session(settings.token))
    return app


def _answer_errors(app: FastAPI, pages: Pages) -> None:
    def answer(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
        if wants_page(request):
            page = pages.html("problem.html", status=status, code=status, detail=detail)
            page.headers.update(headers or {})
            return page
        return Response(problem_bytes(status, detail), status, headers, MEDIA_TYPE)

    @app.exception_handler(ProblemError)
    async def problem(request: Request, error: ProblemError) -> Response:
        return answer(request, error.status, error.detail, error.headers)

    @app.exception_handler(InputError)
    async def mistake(request: Request, error: InputError) -> Response:
        return answer(request, 400, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, 422, "; ".join(_in_words(one) for one in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        usual = {404: "there is nothing at this address", 405: "this address takes another method"}
        detail = usual.get(error.status_code, str(error.detail))
        return answer(request, error.status_code, detail, dict(error.headers or {}))


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
