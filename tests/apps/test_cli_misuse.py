"""Misuses of the command line: each ends in one clear line on stderr and exit code 2, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from se_gnn import training

HUGE, ENDLESS = "9" * 400, "9" * 5000
TRAIN = ("train", "{toy}", "--out", "{out}", "--preset", "authors")
SET = (*TRAIN, "--set")
FEW = (*SET, "num_nearest=3", "--set")

# arguments, and a part of the line that is said; {toy}, {model}, {out}, {folder}, {file} are replaced
MISUSES: list[tuple[tuple[str, ...], str]] = [
    # --- commands and options
    (("trian",), "No such command 'trian'"),
    (("",), "No such command"),
    (("--colour",), "No such option: --colour"),
    (("train",), "Missing argument 'DATA'"),
    (("train", "{toy}"), "Missing option '--out'"),
    ((*TRAIN, "{toy}"), "unexpected extra argument"),
    ((*TRAIN, "--colour"), "No such option: --colour"),
    ((*TRAIN, "--seed"), "requires an argument"),
    ((*TRAIN, "--seed", "one"), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", "1.5"), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", "-1"), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", str(2**63)), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", str(2**64)), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", HUGE), "Invalid value for '--seed'"),
    ((*TRAIN, "--seed", ENDLESS), "Invalid value for '--seed'"),
    ((*TRAIN, "--preset", "nonsense"), "'nonsense' is not one of 'best', 'paper', 'authors'"),
    ((*TRAIN, "--preset", ""), "is not one of"),
    ((*TRAIN, "--device", "tpu"), "'tpu' is not one of 'auto', 'cpu', 'cuda'"),
    ((*TRAIN, "--overwrite", "--resume"), "--overwrite starts again and --resume continues"),
    # --- data
    (("train", "coar", "--out", "{out}"), "unknown data set 'coar' (did you mean 'cora'?)"),
    (("train", "", "--out", "{out}"), "unknown data set ''"),
    (("train", "x" * 300, "--out", "{out}"), "File name too long"),
    (("train", "{toy}", "--out", "x" * 300), "File name too long"),
    (("explain", "x" * 300, "--node", "a"), "File name too long"),
    (("predict", "{model}", "--out", "x" * 300 + ".csv"), "File name too long"),
    (("train", "{folder}", "--out", "{out}"), "is a folder without a stored graph"),
    (("train", "{file}", "--out", "{out}"), "unknown data set"),
    (("train", "{toy}", "--out", "{file}"), "is a file; name a folder"),
    (("train", "{toy}", "--out", "{folder}"), "holds other files"),
    (("train", "{toy}", "--out", "{model}"), "already holds a model"),
    (("train", "{toy}", "--out", "{model}", "--resume"), "holds a finished model: there is nothing to resume"),
    # --- settings
    ((*SET, ""), "a setting must look like num_nearest=20, got ''"),
    ((*SET, "="), "a setting must look like num_nearest=20"),
    ((*SET, "num_nearest"), "a setting must look like num_nearest=20"),
    ((*SET, "similarity.=3"), "unknown setting 'similarity.'"),
    ((*SET, ".num_nearest=3"), "unknown setting '.num_nearest' (did you mean 'num_nearest'?)"),
    ((*SET, "num_nearest=3", "--set", "num_nearest=4"), "num_nearest is set twice: to 3 and to 4"),
    ((*FEW, "label_smoothing=0"), "label_smoothing is not read by the paper's objective (preset 'authors')"),
    ((*FEW, "support_size=60"), "support_size = 60 would have no effect: references = nearest draws no support"),
    ((*FEW, "portfolio=true"), "portfolio = True cannot be combined with objective = 'paper'"),
    ((*SET, "num_nearst=3"), "did you mean 'num_nearest'?"),
    ((*SET, "num_nearest=ten"), "num_nearest must be a whole number, got 'ten'"),
    ((*SET, "num_nearest=2.5"), "num_nearest must be a whole number, got 2.5"),
    ((*SET, "num_nearest=true"), "num_nearest must be a whole number, got True"),
    ((*SET, "num_nearest=none"), "num_nearest must be a whole number, got None"),
    ((*SET, "num_nearest=[3]"), "num_nearest must be a whole number, got [3]"),
    ((*SET, "num_nearest={a=1}"), "num_nearest must be a whole number"),
    ((*SET, "num_nearest=1979-05-27"), "num_nearest must be a whole number"),
    ((*SET, "num_nearest=0"), "num_nearest must be at least 1, got 0"),
    ((*SET, "num_nearest=-3"), "num_nearest must be at least 1, got -3"),
    ((*SET, "num_nearest=9"), "num_nearest must be between 1 and the 8 labeled nodes, got 9"),
    ((*SET, f"num_nearest={2**31}"), "num_nearest must be at most 2147483647"),
    ((*SET, f"num_nearest={HUGE}"), "num_nearest must be at most 2147483647"),
    ((*SET, f"num_nearest={ENDLESS}"), "num_nearest must be a whole number"),
    ((*SET, f"num_nearest=-{HUGE}"), "num_nearest must be at most 2147483647"),
    ((*SET, f"node_weight={HUGE}"), "node_weight must be at most"),
    ((*SET, f"temperature={HUGE}"), "temperature must be at most"),
    ((*SET, f"temperature={HUGE}.0"), "temperature must be a finite number above 0, got inf"),
    ((*SET, "temperature=0"), "temperature must be a finite number above 0, got 0.0"),
    ((*SET, "temperature=nan"), "temperature must be a finite number above 0, got nan"),
    ((*SET, "temperature=-inf"), "temperature must be a finite number above 0, got -inf"),
    ((*SET, "temperature=1e300"), "temperature must be at most 1e+30, got 1e+300"),
    ((*SET, "node_weight=1.5"), "node_weight must be between 0 and 1, got 1.5"),
    ((*SET, "node_weight=nan"), "node_weight must be between 0 and 1, got nan"),
    ((*SET, "hops=0"), "hops must be between 1 and 3, got 0"),
    ((*SET, "hops=99"), "hops must be between 1 and 3, got 99"),
    ((*SET, "measure=euclid"), "measure must be one of cosine, distance"),
    ((*SET, "measure=3"), "measure must be one of cosine, distance"),
    ((*SET, "measure=[1]"), "measure must be one of cosine, distance"),
    ((*SET, "directions=back"), "directions must be one of one, both"),
    ((*SET, "candidates=5"), "unknown setting 'candidates'"),
    ((*SET, "hidden_size=0"), "hidden_size must be at least 1, got 0"),
    ((*FEW, "hidden_size=1000000000"), "hidden_size = 1,000,000,000, num_layers = 2 and members = 1 take "),
    ((*FEW, "members=100000000"), "members = 100,000,000 take "),
    ((*FEW, "num_layers=10000000"), "hidden_size = 64, num_layers = 10,000,000 and members = 1 take "),
    ((*SET, "num_layers=-1"), "num_layers must be at least 1, got -1"),
    ((*SET, "mask_rate=2"), "mask_rate must be between 0 and 1, got 2.0"),
    ((*SET, "edge_loss_weight=-1"), "edge_loss_weight must be at least 0, got -1.0"),
    ((*SET, "epochs=0"), "epochs must be at least 1, got 0"),
    ((*SET, "epochs=1e3"), "epochs must be a whole number, got 1000.0"),
    ((*SET, f"epochs={HUGE}"), "epochs must be at most 2147483647"),
    ((*SET, "patience=0"), "patience must be at least 1, got 0"),
    ((*SET, "patience=never"), "patience must be a whole number or none, got 'never'"),
    ((*SET, "learning_rate=0"), "learning_rate must be a finite number above 0, got 0.0"),
    ((*SET, "learning_rate=inf"), "learning_rate must be a finite number above 0, got inf"),
    ((*SET, "learning_rate=1e38"), "learning_rate must be at most 1e+30, got 1e+38"),
    ((*SET, "learning_rate=fast"), "learning_rate must be a number, got 'fast'"),
    ((*SET, "max_local_edges=0"), "max_local_edges must be at least 1, got 0"),
    ((*SET, "preset=paper"), "preset is not a setting: choose it with preset=..., or --preset"),
    ((*SET, "similarity.a.b=1"), "unknown setting 'similarity.a.b'"),
    ((*SET, "num_nearest=" + "[" * 3000), "num_nearest must be a whole number"),
    # --- the nodes of a model
    (("explain", "{model}"), "give --node NAME to explain one node, or --out FOLDER"),
    (("explain", "{model}", "--node", "nobody"), "unknown node 'nobody'"),
    (("explain", "{model}", "--node", "3"), "unknown node '3'"),
    (("explain", "{model}", "--node", ""), "unknown node ''"),
    (("explain", "{model}", "--node", "#24"), "unknown node 24: positions go from 0 to 23"),
    (("explain", "{model}", "--node", "#-1"), "#POSITION must be a whole number such as #17, got '#-1'"),
    (("explain", "{model}", "--node", "#1.5"), "#POSITION must be a whole number such as #17, got '#1.5'"),
    (("explain", "{model}", "--node", "#"), "#POSITION must be a whole number such as #17, got '#'"),
    (("explain", "{model}", "--node", "#x"), "a name that begins with # is written with another one, '##x'"),
    (("explain", "{model}", "--node", "##3"), "unknown node '#3'"),
    (("explain", "{model}", "--node", "#" + HUGE), "#POSITION must be between 0 and 23"),
    (("explain", "{model}", "--node", "#" + ENDLESS), "#POSITION must be between 0 and 23"),
    (("explain", "{model}", "--node", "#²"), "#POSITION must be a whole number"),
    (("explain", "{model}", "--node", "node 1", "--k", "0"), "Invalid value for '--k'"),
    (("explain", "{model}", "--node", "node 1", "--k", "many"), "Invalid value for '--k'"),
    (("explain", "{folder}", "--node", "a"), "is not a model folder"),
    (("explain", "{file}", "--node", "a"), "is not a model folder but a file"),
    (("explain", "{out}", "--node", "a"), "does not exist"),
    (("explain", "{model}", "--node", "node 1", "--graph", "{out}"), "does not exist"),
    (("evaluate", "{out}"), "does not exist"),
    (("evaluate", "{folder}"), "is not a model folder"),
    (("evaluate", "{toy}"), "is not a model folder"),
    (("evaluate", "{model}", "--graph", "{folder}"), "is missing"),
    # --- files to write
    (("predict", "{model}", "--out", "{folder}"), "holds other files (holiday.txt); name another folder"),
    (("predict", "{model}", "--out", "{out}.txt"), "--out must end in .csv, .jsonl, .parquet"),
    (("predict", "{model}", "--out", "{out}/deep/x.csv"), "does not exist"),
    (("predict", "{model}", "--out", "{file}"), "already exists; --overwrite replaces it"),
    (("predict", "{model}", "--out", "{out}.csv", "--nodes", ","), "--nodes must name at least one node"),
    (("predict", "{model}", "--out", "{out}.csv", "--nodes", "node 1,nobody"), "unknown node 'nobody'"),
    (("predict", "{model}", "--out", "{out}.csv", "--nodes", "#0,#99"), "unknown node 99"),
    (("predict", "{out}", "--out", "{out}.csv"), "does not exist"),
    (("report", "{model}", "--out", "{out}.pdf"), "--out must end in .html"),
    (("report", "{model}", "--out", "{out}.html", "--nodes", "nobody"), "unknown node 'nobody'"),
    (("report", "{model}", "--out", "{out}.html", "--k", "0"), "Invalid value for '--k'"),
    # --- import
    (("import", "--nodes", "{out}", "--edges", "{out}", "--id", "a", "--label", "b", "--out", "{out}"), "not"),
    (("import", "--nodes", "{file}"), "Missing option"),
]


@pytest.fixture(scope="module")
def places(toy, trained_once, tmp_path_factory) -> dict[str, Path]:
    here = tmp_path_factory.mktemp("misuse")
    (here / "folder").mkdir()
    (here / "folder" / "holiday.txt").write_text("not yours")
    (here / "file.csv").write_text("a,b\n")
    return {
        "toy": toy,
        "model": trained_once,
        "folder": here / "folder",
        "file": here / "file.csv",
        "out": here / "out",
    }


def label(misuse: tuple[tuple[str, ...], str]) -> str:
    return " ".join(misuse[0])[:60]


@pytest.mark.parametrize("misuse", MISUSES, ids=label)
def test_a_misuse_is_one_clear_line_and_exit_code_2(run, places, misuse, monkeypatch):
    monkeypatch.setattr(training, "fit", lambda *_, **__: pytest.fail("training has started"))
    arguments, text = misuse
    before = sorted(places["out"].parent.rglob("*"))
    result = run(*(argument if "=" in argument else argument.format(**places) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 600
    assert text in result.stderr
    assert sorted(places["out"].parent.rglob("*")) == before


def test_there_are_a_hundred_misuses():
    assert len({arguments for arguments, _ in MISUSES}) >= 100


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('preset = "nonsense"', "preset must be one of paper, authors, best, got 'nonsense'"),
        ("preset = 3", "preset must be one of"),
        ("[preset]\nx = 1", "preset must be one of"),
        ("similarity = 3", "unknown setting 'similarity'"),
        ("[similarity]\nlambda = 0.5", "write settings at the top level, as hops = 1, not under [similarity]"),
        ("[similarity", "is not valid TOML"),
        ("[[similarity]]", "write settings at the top level"),
        (f"epochs = {HUGE}", "epochs must be at most 2147483647"),
        (f"epochs = {ENDLESS}", "is not valid TOML"),
        ("x = " + "[" * 5000, "is not valid TOML"),
        ("\udcff", "is not valid TOML"),
        ("\0", "is not valid TOML"),
    ],
)
def test_a_bad_config_file_is_one_clear_line(run, toy, tmp_path, content, text):
    file = tmp_path / "settings.toml"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    result = run("train", toy, "--out", tmp_path / "out", "--config", file)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.output
    assert text in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_not_finite_is_one_clear_line(run, toy, tmp_path):
    few = ("--set", "num_nearest=3", "--set", "epochs=9")
    result = run("train", toy, "--out", tmp_path / "out", *few, "--set", "learning_rate=1e30")
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1] == "error: the loss of epoch 1 is nan: lower learning_rate"


def test_a_name_is_a_name_and_a_number_after_a_hash_is_a_position(run, trained_once):
    def named(text: str) -> str:
        return json.loads(run("explain", trained_once, "--node", text, "--json").stdout)["query"]["name"]

    assert named("#17") == named("node 17") == "node 17"
    assert named("#23") == "alone, far away"
