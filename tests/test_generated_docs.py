"""What the pages take from the code is current, and what writes it works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from docs.generate import examples
from docs.generate.blocks import replaced
from docs.generate.examples import commands_of
from docs.generate.guides import PAGES
from docs.generate.presets import PAGE, preset_tables

ROOT = Path(__file__).resolve().parents[1]


def test_the_tables_of_the_presets_are_current():
    page = PAGE.read_text(encoding="utf-8")
    assert replaced(page, "presets", preset_tables()) == page, "python -m docs.generate presets writes them"


def test_the_figures_of_the_page_on_scale_are_current():
    from docs.generate import scale

    page = scale.PAGE.read_text(encoding="utf-8")
    assert replaced(page, "scale", scale.whole()) == page, "python -m docs.generate scale writes them"


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, parts in PAGES.items() for name in parts])
def test_the_figures_of_the_guides_are_current(page, name):
    text = page.read_text(encoding="utf-8")
    written = replaced(text, name, PAGES[page][name](), "guides")
    assert written == text, "python -m docs.generate guides writes them"


def test_the_page_on_what_works_together_is_current():
    from docs.generate import combinations

    page = combinations.PAGE.read_text(encoding="utf-8")
    found = replaced(page, "combinations", combinations.tables())
    assert found == page, "python -m docs.generate combinations writes them"


def test_examples_are_found():
    assert any(command.startswith("se-gnn train") for command in commands_of(examples.PAGES[0]))
    assert [command.split()[1] for command in commands_of(examples.PAGES[1])] == ["explain"]


def test_the_page_on_speed_is_what_the_published_results_give(capsys):
    from benchmarks.__main__ import main

    published = ROOT / "benchmarks" / "published"
    runs = [str(path) for path in published.glob("cpu-*.json")]
    assert main(["render", *runs, "--gpu", str(published / "gpu-h200.json")]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "understanding" / "performance.md").read_text(encoding="utf-8")


def test_the_speed_of_a_single_explanation_stands_beside_that_of_all_in_one_pass():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if "against PyG's GNNExplainer" in line]
    assert ["one pass" in lines[0], "one node" in lines[1]] == [True, True]


@pytest.mark.parametrize("formula", [r"\mathbf h_t", r"\mathcal E_s(v)", r"\sum_{k=1}^{K} \exp(s / \tau)"])
def test_formulas_become_mathml_that_needs_no_script(formula):
    pytest.importorskip("latex2mathml")
    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    from mathml import mathml

    shown = mathml(formula)
    assert shown.startswith("<math")
    assert "\\" not in shown
    assert 'mathvariant="bold"' not in shown
