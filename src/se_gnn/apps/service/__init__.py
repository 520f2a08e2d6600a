"""The REST service: what a model predicts and why, over HTTP, under `/v1`."""

from se_gnn.apps.service.store import Snapshot, Store

__all__ = ["Snapshot", "Store"]
