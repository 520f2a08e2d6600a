"""Schemathesis over the whole service: no server error, and no answer outside of what OpenAPI says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from hostile_model import hostile_model
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.apps.web import WebSettings

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install 'se-gnn[test]'")


@pytest.fixture(scope="module")
def described():
    store = Store.of_model(hostile_model())
    store.snapshot.prepare()
    app = create_app(store, WebSettings(hosts=frozenset({"testserver"}), per_second=1e6))
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app)


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_every_answer_is_one_that_is_described(described, mode):
    """Operation by operation: requests as they are described, and others."""
    checks = [
        schemathesis.checks.not_a_server_error,
        schemathesis.specs.openapi.checks.status_code_conformance,
        schemathesis.specs.openapi.checks.content_type_conformance,
        schemathesis.specs.openapi.checks.response_schema_conformance,
        schemathesis.specs.openapi.checks.response_headers_conformance,
    ]
    tried = set()
    for found in described.get_all_operations():
        operation = found.ok()
        if mode == "NEGATIVE" and not (operation.path_parameters or operation.query or operation.body):
            continue  # nothing could be wrong
        cases = operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode])

        @settings(max_examples=20, suppress_health_check=list(HealthCheck))
        @given(case=cases)
        def ask(case):
            tried.add(case.path)
            case.call_and_validate(checks=checks)

        ask()
    assert len(tried) >= 8


def test_the_description_names_every_address(described):
    paths = described.raw_schema["paths"]
    assert {"/v1/model", "/v1/nodes", "/v1/predict", "/v1/similarity", "/healthz", "/metrics"} <= set(paths)
    for operations in paths.values():
        for operation in operations.values():
            assert "application/problem+json" in operation["responses"]["503"]["content"]
