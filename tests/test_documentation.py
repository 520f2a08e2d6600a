"""Every Python snippet of the README and the pages runs, in order, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "docs/start.md", "docs/explanation.md", "docs/metrics.md", "docs/baselines.md", "docs/attack.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run(page, monkeypatch):
    from se_gnn import SEGNNClassifier

    quick = SEGNNClassifier.fit

    def fit(self, graph, y=None):  # the same code path, two epochs
        self.settings = [*self.settings, "training.epochs=2"]
        return quick(self, graph, y)

    monkeypatch.setattr(SEGNNClassifier, "fit", fit)
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
    assert snippets
    exec(compile("\n".join(snippets), page, "exec"), {})
