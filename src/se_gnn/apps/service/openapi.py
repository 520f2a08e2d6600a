"""OpenAPI: the explanation is described by the library's own JSON schema."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from se_gnn.apps.web import Problem
from se_gnn.explain import schema

REFERENCE = "#/components/schemas/Explanation"
EXPLANATION: dict[str, Any] = {
    "description": "the explanation",
    "content": {"application/json": {"schema": {"$ref": REFERENCE}}},
}


def describe(app: FastAPI) -> None:
    """Have the application describe itself with what FastAPI cannot know."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            schemas.update(explanation_schemas())
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]


def explanation_schemas() -> dict[str, Any]:
    """The schema of an explanation, its definitions beside it."""
    text = json.dumps(schema()).replace("#/$defs/", f"{REFERENCE}-")
    whole: dict[str, Any] = json.loads(text)
    parts = whole.pop("$defs")
    whole.pop("$schema")
    return {"Explanation": whole, **{f"Explanation-{name}": part for name, part in parts.items()}}
