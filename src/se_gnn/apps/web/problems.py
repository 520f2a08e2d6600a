"""Errors as `application/problem+json` (RFC 9457): what is wrong, and what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """Why a request has no answer."""

    type: str = Field("about:blank", description="kind of the problem; the status says it")
    title: str = Field(description="the status in words")
    status: int = Field(ge=400, le=599, description="the HTTP status")
    detail: str = Field(description="what is wrong with this request, and what to do")


class ProblemError(Exception):
    """Ends a request with a status and a reason."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


def problem_of(status: int, detail: str) -> Problem:
    """The problem that a status and a reason make."""
    return Problem(type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail)


def problem_bytes(status: int, detail: str) -> bytes:
    """The body of an answer."""
    return json.dumps(problem_of(status, detail).model_dump()).encode()


def busy(detail: str, seconds: int = 1) -> ProblemError:
    """The server has too much to do; ask again in some seconds."""
    return ProblemError(503, detail, headers={"Retry-After": str(seconds)})


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of the problems that an operation may answer with."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: schema}} for status in statuses}


PROBLEMS = problem_responses(400, 401, 403, 404, 405, 408, 413, 414, 422, 429, 500, 503)
