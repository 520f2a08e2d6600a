"""The explorer: web pages to look at what a model predicts and why."""

from se_gnn.apps.explorer.application import create_app

__all__ = ["create_app"]
