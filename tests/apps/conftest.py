"""The hostile model, served."""

from __future__ import annotations

import pytest

from hostile_model import hostile_model
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.model import Model
from web_client import UNLIMITED, Client


@pytest.fixture(scope="session")
def hub() -> Model:
    return hostile_model()


@pytest.fixture(scope="session")
def store(hub: Model) -> Store:
    made = Store.of_model(hub)
    made.snapshot.prepare()
    return made


@pytest.fixture
def client(store: Store) -> Client:
    return Client(create_app(store, UNLIMITED))
