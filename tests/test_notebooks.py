"""The notebooks run from top to bottom, and are kept with what they show: `python -m docs.generate notebooks`."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

import se_gnn

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the packages that run a notebook
def test_a_notebook_runs_and_shows_something(path, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(Path(se_gnn.__file__).parents[1]))  # the kernel runs what the tests run
    notebook = nbformat.read(path, as_version=4)
    kept = kinds_shown(notebook)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"]
    assert kinds_shown(notebook) == kept, "python -m docs.generate notebooks writes the outputs"


def kinds_shown(notebook):
    """Of each cell of code, what kinds of output it has."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[sorted(output.get("data", {})) or output.output_type for output in cell.outputs] for cell in cells]
