"""The rating page. Forms work without a script; the script adds keys, and tries again while the server is away."""

from __future__ import annotations

import json
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from lab.rating.drawing import class_mark
from lab.rating.store import LONGEST_NAME, ConflictError, Rater, RatingStore
from se_gnn.apps.web import Pages, WebSettings, new_application
from se_gnn.apps.web.guard import wants_page
from se_gnn.errors import InputError

COOKIE = "se-gnn-rater"
PACKAGE = "lab.rating"
MOST_FIELDS = 8


def create_app(store: RatingStore, settings: WebSettings) -> FastAPI:
    """The pages over a prepared file of ratings."""
    pages = Pages([PACKAGE])
    pages.environment.globals.update(class_mark=class_mark, longest_name=LONGEST_NAME)
    app = new_application(settings, pages, title="python -m lab rate", openapi_url=None)

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/")
    async def current(request: Request, note: str = "") -> Response:
        rater = await _rater(request, store)
        if rater is None:
            return pages.html("start.html", wrong=None, name="")
        return await _question(pages, store, rater, note if note in NOTES else "")

    @app.post("/start")
    async def start(request: Request) -> Response:
        name = (await _form(request)).get("name", "")
        try:
            rater = await run_in_threadpool(store.rater_named, name)
        except InputError as error:
            return pages.html("start.html", status=400, wrong=str(error), name=name[:LONGEST_NAME])
        secure = "; Secure" if request.url.scheme == "https" else ""
        cookie = f"{COOKIE}={rater.secret}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict{secure}"
        return Response(status_code=303, headers={"Location": "/", "Set-Cookie": cookie})

    @app.post("/answer")
    async def answer(request: Request) -> Response:
        rater, form = await _known(request, store), await _form(request)
        call = (rater, _number(form, "pair"), form.get("answer", ""), form.get("key", ""))
        return await _decided(request, store.record, call)

    @app.post("/undo")
    async def undo(request: Request) -> Response:
        rater, form = await _known(request, store), await _form(request)
        return await _decided(request, store.undo, (rater, _number(form, "pair"), form.get("key", "")))

    @app.post("/leave")
    async def leave() -> Response:
        gone = f"{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        return Response(status_code=303, headers={"Location": "/", "Set-Cookie": gone})

    return app


NOTES = {"elsewhere": "This pair was answered on another page. That answer counts; Undo takes it back."}


async def _question(pages: Pages, store: RatingStore, rater: Rater, note: str) -> Response:
    standing = await run_in_threadpool(store.standing, rater)
    question = standing.question
    return pages.html(
        "done.html" if question is None else "question.html",
        rater=rater,
        standing=standing,
        question=question,
        classes=[] if question is None else json.loads(question.classes),
        note=NOTES.get(note),
        key=secrets.token_urlsafe(16),  # of whatever this page decides
    )


async def _decided(request: Request, decide: Any, call: tuple[Any, ...]) -> Response:
    """Acknowledge what is on the disk: to a script without a body, to a form with the next page."""
    try:
        await run_in_threadpool(decide, *call)
    except ConflictError as error:
        if wants_page(request):
            return Response(status_code=303, headers={"Location": "/?note=elsewhere"})
        raise HTTPException(409, str(error)) from error
    return Response(status_code=303, headers={"Location": "/"}) if wants_page(request) else Response(status_code=204)


async def _rater(request: Request, store: RatingStore) -> Rater | None:
    try:
        held = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if held is None else await run_in_threadpool(store.rater_of, held.value)


async def _known(request: Request, store: RatingStore) -> Rater:
    rater = await _rater(request, store)
    if rater is None:
        raise HTTPException(403, "give your name on the first page; then your answers can be kept")
    return rater


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, each once."""
    try:
        fields = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "the body must be a form of a few fields, in UTF-8") from None
    return {name: values[0] for name, values in fields.items()}


def _number(form: dict[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(400, f"{name} must be a whole number")
    return int(text)
