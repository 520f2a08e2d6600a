"""The explorer: web pages to look at what a model predicts and why."""

from se_gnn.apps.service import create_app

__all__ = ["create_app"]
