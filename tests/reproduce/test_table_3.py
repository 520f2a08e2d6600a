"""Table 3 shows what the paper prints, and ratings only where people gave them."""

from __future__ import annotations

from reproduce import table_3
from reproduce.__main__ import main
from reproduce.store import Store


def test_without_ratings_the_column_is_empty_and_names_the_command(tmp_path):
    text = table_3.render(Store(tmp_path), tmp_path)
    assert "| Citeseer | SE-GNN | 0.733 | no ratings yet |" in text
    assert text.count("no ratings yet") == 12
    assert "python -m lab rate" in text


def test_answers_of_people_fill_the_column(tmp_path):
    answers = ["similar"] * 8 + ["different"] * 2 + ["skipped"]
    lines = [f"r{i},cora,se-gnn,{i},t,n,{answer},now" for i, answer in enumerate(answers)]
    header = "rater,model,method,pair,target,neighbor,answer,at"
    (tmp_path / table_3.FILE).write_text("\n".join([header, *lines]) + "\n")
    text = table_3.render(Store(tmp_path), tmp_path)
    assert "| Cora | SE-GNN | 0.763 | 0.800 (0.490 to 0.943; 10 ratings) |" in text
    assert text.count("no ratings yet") == 11


def test_there_is_nothing_to_run(tmp_path):
    assert main(["run", "table-3", "--trial", "--results", str(tmp_path)]) == 0
