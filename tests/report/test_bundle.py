"""Style and script are files of their own that make one style and one script."""

from __future__ import annotations

import re
from importlib import resources

from se_gnn.report.templating import SCRIPTS, STYLES, asset, script, stylesheet


def test_every_file_is_in_the_page():
    files = {file.name for file in resources.files("se_gnn.report").joinpath("assets").iterdir()}
    assert files == {*STYLES, *SCRIPTS}


def test_one_module_is_left_that_neither_imports_nor_exports():
    text = script()
    assert not re.search(r"^\s*(import|export)\b", text, flags=re.M)
    assert text.index("function makePredictions") < text.index("makePredictions(\n")


def test_what_a_module_imports_is_written_before_it():
    for i, name in enumerate(SCRIPTS):
        for imported in re.findall(r'from "\./(.*?)";', asset(name)):
            assert imported in SCRIPTS[:i]


def test_no_name_is_declared_twice():
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(), flags=re.M)
    assert len(names) == len(set(names))


def test_no_script_makes_a_global():
    assert not re.search(r"\b(window|globalThis)\.\w+ =[^=]", script())


def test_each_class_has_its_color_after_the_style():
    assert re.findall(r"^\.c(\d+) \{ --class: #[0-9A-F]{6}; \}$", stylesheet(12), flags=re.M) == [
        str(label) for label in range(12)
    ]
