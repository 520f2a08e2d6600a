"""The REST service: what a model predicts and why, over HTTP, under `/v1`."""

from se_gnn.apps.service.application import create_app
from se_gnn.apps.service.store import Snapshot, Store

__all__ = ["Snapshot", "Store", "create_app"]
