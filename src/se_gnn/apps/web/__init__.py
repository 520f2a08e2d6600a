"""What the web pages and the REST service share: guard, limits, token, problems, pages, assets, server."""

from se_gnn.apps.web.application import new_application
from se_gnn.apps.web.assets import Assets
from se_gnn.apps.web.pages import Pages
from se_gnn.apps.web.problems import PROBLEMS, Problem, ProblemError
from se_gnn.apps.web.settings import WebSettings
from se_gnn.apps.web.work import WorkPool

__all__ = ["PROBLEMS", "Assets", "Pages", "Problem", "ProblemError", "WebSettings", "WorkPool", "new_application"]
