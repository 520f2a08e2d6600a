"""One self-contained page about a model and some of its predictions."""

from se_gnn.report.page import pairs_html, report_html

__all__ = ["pairs_html", "report_html"]
