"""Sphinx settings; build with `make docs`."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "se-gnn"
author = "The se-gnn developers"
copyright = author
version = release = installed_version("se-gnn")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

default_role = "literal"  # docstrings write code in single backticks
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # scikit-learn adds the first to estimators, and they link to its own pages; docstrings list the attributes
    "exclude-members": ", ".join(
        [
            *(f"set_{verb}_request" for verb in ("fit", "predict", "predict_proba", "score")),
            "get_metadata_routing",
            *("classes_", "graph_", "settings_"),
        ]
    ),
}
napoleon_custom_sections = ["Shapes"]

html_theme = "furo"
html_math_renderer = "mathml"  # drawn by the browser: no script, no network
html_static_path = ["static"]
html_css_files = ["equations.css", "tables.css"]
html_title = f"se-gnn {release}"
