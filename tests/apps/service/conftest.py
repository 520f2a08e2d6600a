"""A model that is not trained, with hostile names: claims about answers have to hold for any parameters."""

from __future__ import annotations

import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.model import TrainedModel
from strategies import hub_graph, small_config, untrained
from web_client import UNLIMITED, Client

HOSTILE_NAMES = (
    "</script><script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "../../../etc/passwd",
    "مرحبا بالعالم",
    "evil \u202e txt.exe",
    "😀 <b>bold</b> &amp; {{ 7 * 7 }}",
    "line\nbreak\ttab\x00null\ud800",
    "?a=b&c=d#e%2f",
)


@pytest.fixture(scope="session")
def hub() -> TrainedModel:
    graph = hub_graph(
        HOSTILE_NAMES,
        name="<script>hub</script>",
        class_names=("<i>first</i>", "second", "{{ third }}"),
        feature_names=["height", "<u>weight</u>", "price"],
    )
    similarity = {"num_nearest": 5, "directions": "both", "measure": "distance"}
    return untrained(graph, small_config(similarity=similarity))


@pytest.fixture(scope="session")
def store(hub: TrainedModel) -> Store:
    made = Store.of_model(hub)
    made.snapshot.prepare()
    return made


@pytest.fixture
def client(store: Store) -> Client:
    return Client(create_app(store, UNLIMITED))
