"""Run the notebooks and keep what they show."""

from __future__ import annotations

import tempfile

import nbformat
from nbclient import NotebookClient

from docs.generate.blocks import ROOT

FOLDER = ROOT / "notebooks"


def write_notebooks() -> None:
    """Execute every notebook in a folder of its own and write it back with its outputs."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times of day: no two runs would be alike
        notebook.metadata.pop("widgets", None)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
