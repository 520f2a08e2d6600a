import pytest


def test_a_report_is_one_file_and_the_command_says_where(run, model, tmp_path):
    out = tmp_path / "report.html"
    result = run("report", model, "--nodes", "node 14,node 3", "--nodes", "alone, far away", "--k", "2", "--out", out)
    assert result.exit_code == 0, result.output
    assert str(out) in result.stdout
    page = out.read_text(encoding="utf-8")
    assert [f'id="node-{node}"' in page for node in (14, 3, 23, 5)] == [True, True, True, False]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "report.html"]


def test_without_nodes_it_chooses_some(run, model, tmp_path):
    result = run("report", model, "--out", tmp_path / "report.html", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<article" in page


def test_an_unknown_node_is_named_with_a_near_one_and_nothing_is_written(run, model, tmp_path):
    result = run("report", model, "--nodes", "node 14,node 3x", "--out", tmp_path / "report.html")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown node 'node 3x' (did you mean 'node 3")
    assert not (tmp_path / "report.html").exists()


def test_a_file_that_is_there_is_kept_unless_told_otherwise(run, model, tmp_path):
    out = tmp_path / "report.html"
    out.write_text("mine")
    result = run("report", model, "--nodes", "node 3", "--out", out)
    assert result.exit_code == 2
    assert "already exists; --overwrite replaces it" in result.stderr
    assert out.read_text() == "mine"
    assert run("report", model, "--nodes", "node 3", "--out", out, "--overwrite").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("out", "text"), [("report.pdf", "must end in .html"), ("no/report.html", "does not exist"), ("report", ".html")]
)
def test_a_file_that_cannot_be_is_refused_first(run, tmp_path, out, text):
    result = run("report", tmp_path / "no model", "--out", tmp_path / out)
    assert result.exit_code == 2
    assert text in result.stderr
