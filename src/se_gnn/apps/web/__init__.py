"""What the web pages and the REST service share: guard, limits, token, problems, pages, assets, server."""

from se_gnn.apps.web.application import Pages, new_application
from se_gnn.apps.web.guard import PROBLEMS, Problem
from se_gnn.apps.web.server import WorkPool
from se_gnn.apps.web.settings import WebSettings

__all__ = ["PROBLEMS", "Pages", "Problem", "WebSettings", "WorkPool", "new_application"]
