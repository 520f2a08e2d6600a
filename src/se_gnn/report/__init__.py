"""One self-contained page about a model and some of its predictions; jinja2 is imported at use."""

from se_gnn.report.page import report_html

__all__ = ["report_html"]
