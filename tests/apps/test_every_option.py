"""No option is ignored: each one changes what a call prints or writes, is recorded, or is refused by its name.

Every option of every command has a claim below; a new option without one fails the first test.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
import torch
import typer

from commands import QUICK, Run
from se_gnn.apps.cli import app, import_tables, inspecting
from se_gnn.apps.cli import predict as prediction

QUICKLY = " ".join(QUICK)
IMPORT = "import --nodes nodes.csv --edges edges.csv --id id --label class --out new"
START = f"start nodes.csv edges.csv --yes --quick --no-serve {QUICKLY}"
TRAIN = f"train graph --out new --quick {QUICKLY}"
LINKS = "train typed --task links --out new --set num_nearest=3 --set node_weight=1"
TUNE = "tune graph --out new --trials 1 --set epochs=1 --set hidden_size=4"
PREDICT = "predict model --out new.csv"
NEW = f"{PREDICT} --new-nodes more.csv"
PAIRS = "predict links --out new.csv --pairs pairs.csv"
EXPLAIN, PAIR, ALL = "explain model --node n3", "explain links --pair n1,n3,a", "explain model --out new"
REPORT = "report model --out new.html"
RECOMMEND = "recommend links --type a --nodes n3"
SUGGEST = "labels suggest model --count 2"
EDIT = "labels edit model remove n0"

# a call, and the option that gives it another outcome; an option that the call has already gets the other value
CHANGES = [
    ("", "--version"), (PREDICT, "--quiet"),
    (START, "--out other"), (START, "--label note"), (START.replace(" --yes", ""), "--yes"),
    (START.replace(" --quick", ""), "--quick"), (START.replace(" --no-serve", ""), "--no-serve"),
    (START, "--set epochs=3"), (f"{START} --out started", "--overwrite"), (START, "--quiet"),
    (IMPORT, "--nodes later.csv"), (IMPORT, "--edges fewer.csv"), (IMPORT, "--id code"), (IMPORT, "--out other"),
    (IMPORT, "--label note"), (IMPORT.replace(" --label class", ""), "--target-number amount"),
    (IMPORT, "--source from"), (IMPORT, "--target to"), (f"{IMPORT} --out graph", "--overwrite"),
    (IMPORT, "--column size=category"), (IMPORT, "--edge-column count=weight"), (IMPORT, "--directed"),
    (f"{IMPORT} --edge-column day=time", "--set until=2026-03-15"), (IMPORT, "--column part=split"),
    (IMPORT, "--like graph"), (IMPORT, "--set encoding=cp1252"), (IMPORT, "--set name=other"), (IMPORT, "--json"),
    (TRAIN, "--out other"), (TRAIN.replace(" --quick", ""), "--quick"), (TRAIN, "--set epochs=3"), (TRAIN, "--seed 1"),
    (LINKS, "--set num_nearest=2"), (LINKS, "--seed 1"), (LINKS, "--quiet"), (f"{LINKS} --out links", "--overwrite"),
    (f"{TRAIN} --out model", "--overwrite"), (f"{TRAIN} --out halted", "--resume"),
    (f"{TRAIN} --task links", "--task nodes"), (TRAIN.replace(" --quick", ""), "--preset paper"),
    (TRAIN, "--config settings.toml"), (TRAIN, "--device cuda"), (TRAIN, "--calibration 0.5"), (TRAIN, "--quiet"),
    (TUNE, "--out other"), (TUNE, "--budget 1x"), (TUNE, "--trials 2"), (TUNE, "--set num_nearest=3"),
    (TUNE, "--seed 1"), (TUNE, "--device cuda"), (TUNE, "--quiet"),
    (PREDICT, "--out other.csv"), (PREDICT, "--nodes n3"), (PREDICT, "--coverage 0.8"),
    (PREDICT, "--abstain --set false_alarms=0.3"),
    (f"{PREDICT} --out taken.csv", "--overwrite"), (PREDICT, "--new-nodes more.csv"), (NEW, "--new-edges ends.csv"),
    (f"{PREDICT} --new-nodes keyed.csv", "--column key=id"), (NEW, "--set changes=changes.csv"),
    (NEW, "--set keep_graph=grown"), (PREDICT, "--set sample=3"), (PREDICT, "--graph later"),
    (PREDICT.replace("model", "links"), "--pairs pairs.csv"), (PREDICT, "--device cuda"),
    ("predict model --out new", "--set shard=5"), (PAIRS, "--quiet"), (f"{PAIRS} --out taken.csv", "--overwrite"),
    (EXPLAIN, "--node n4"), (EXPLAIN, "--k 1"), (ALL, "--k 1"), (EXPLAIN, "--json"), (PAIR, "--json"),
    ("explain model", "--out new"), ("explain model --k 2 --out done", "--overwrite"), (ALL, "--set shard=5"),
    (EXPLAIN, "--graph later"), (PAIR, "--pair n1,n4,b"), (EXPLAIN, "--device cuda"), (ALL, "--quiet"),
    (REPORT, "--out other.html"), (REPORT, "--nodes n3"), ("report links --out new.html", "--pair n1,n3,a"),
    (REPORT, "--graph later"), (REPORT, "--k 1"), (f"{REPORT} --out taken.html", "--overwrite"), (REPORT, "--quiet"),
    ("serve model", "--graph later"), ("serve model --token-file token", "--host 0.0.0.0"),
    ("serve model", "--port 8001"), ("serve model", "--token-file token"), ("serve model", "--allow-host example.org"),
    ("serve model", "--set workers=1"), ("serve model", "--quiet"),
    (RECOMMEND, "--nodes n4"), (RECOMMEND, "--k 1"), (RECOMMEND, "--type b"), (RECOMMEND, "--out new.csv"),
    (f"{RECOMMEND} --out taken.csv", "--overwrite"), (f"{RECOMMEND} --out new.csv", "--quiet"),
    ("evaluate model", "--graph later"), ("evaluate model", "--json"),
    ("labels audit model", "--out new.csv"), ("labels audit model", "--top 1"), ("labels audit model", "--graph later"),
    ("labels audit model", "--retrain"), ("labels audit model --out taken.csv", "--overwrite"),
    ("labels audit model --out new.csv", "--quiet"),
    (SUGGEST, "--count 1"), (SUGGEST, "--out new.csv"),
    (SUGGEST, "--nodes n38,n39"), (SUGGEST, "--graph later"),
    (f"{SUGGEST} --out taken.csv", "--overwrite"), (f"{SUGGEST} --out new.csv", "--quiet"),
    ("labels certify model", "--out new.csv"), ("labels certify model", "--nodes n6,n7"),
    ("labels certify model", "--graph later"), ("labels certify model --out taken.csv", "--overwrite"),
    ("labels certify model --out new.csv", "--quiet"),
    (EDIT, "--dry-run"), (EDIT, "--out other"), (EDIT, "--quiet"), (f"{EDIT} --dry-run", "--out other"),
    (f"{EDIT} --dry-run", "--by somebody"), (f"{EDIT} --dry-run", "--reason checked"),
]  # fmt: skip
TYPED = "import --nodes paper=nodes.csv --nodes author=authors.csv --edges cites=edges.csv --edges writes=writes.csv"
NUMBER = f"{IMPORT.replace(' --label class', '')} --target-number amount"
CHANGES += [
    *((IMPORT, f"--set {text}") for text in (
        "train_share=0.5", "val_share=0.1", "max_train=3", "seed=1", "strict=true", "separator=;", "decimal=,",
        "missing=red",
    )),
    (f"{IMPORT} --edge-column day=time", "--set split_by_time=edges"), (NUMBER, "--set unit=EUR"),
    (f"{IMPORT} --column note=text", "--set text_words=1"),
    (f"{TYPED} --id id --label class --out new", "--set name_types=false"),
    (f"{IMPORT} --label mixed", "--set merge_classes=true"),
    (IMPORT.replace("edges.csv", "loose.csv"), "--set drop_dangling=true"),
    *((f"{PREDICT} --coverage 0.6", f"--set {text}") for text in (
        "method=lac", "by_class=true", "calibrate_on=validation",
    )),
    ("serve model", "--set seconds=2"), ("serve model", "--set per_second=2"), (LINKS, "--set node_weight=0.5"),
]  # fmt: skip
# what is kept as it was given, and nothing else
RECORDED = [(EDIT, "--reason checked"), (EDIT, "--by somebody")]
# where an option would have no effect, also at its default value
REFUSED = [
    *((PAIRS, text) for text in (
        "--nodes n1", "--coverage 0", "--abstain", "--new-nodes more.csv", "--set sample=1", "--graph later",
        "--device cpu", "--set shard=4096",
    )),
    *((PREDICT, text) for text in (
        "--new-edges ends.csv", "--column key=id", "--set changes=new.csv", "--set keep_graph=grown",
        "--set shard=4096", "--set by_class=false", "--set false_alarms=0.05",
    )),
    *((PAIR, text) for text in ("--node n1", "--k 5", "--out new", "--graph later", "--device cpu")),
    *((EXPLAIN, text) for text in ("--out new", "--overwrite", "--set shard=4096", "--quiet")),
    (ALL, "--json"),
    *(("report links --out new.html --pair n1,n3,a", text) for text in ("--nodes n1", "--graph later", "--k 4")),
    *((LINKS, text) for text in (
        "--quick", "--resume", "--preset best", "--config settings.toml", "--device auto", "--calibration 0",
        "--set epochs=2",
    )),
    (TRAIN.replace(" --quick", " --preset paper"), "--quick"),
    (f"{TRAIN} --overwrite", "--resume"),
    (f"{TRAIN} --config preset.toml", "--preset best"),
    *((RECOMMEND, text) for text in ("--overwrite", "--quiet")),
    *((f"labels {one} model", text) for one in ("audit", "suggest", "certify") for text in ("--overwrite", "--quiet")),
    ("labels audit model --out new.csv --quiet", "--top 15"),
    (f"{IMPORT.replace(' --label class', '')} --target-number amount", "--label amount"),
    (IMPORT.replace(".csv", ".parquet"), "--set encoding=utf-8"),
    *((IMPORT, text) for text in (
        "--set until=2026-03-15", "--set unit=EUR", "--set name_types=true", "--set feature_type=float16",
    )),
    (f"{IMPORT} --column part=split", "--set seed=0"),
    *((f"{IMPORT} --like graph", text) for text in (
        "--directed", "--column size=category", "--column amount=ignore", "--edge-column count=weight",
        "--edge-column count=ignore", "--set seed=0", "--set text_words=500", "--set split_by_time=edges",
    )),
]  # fmt: skip
NAMED_BY_VALUE = ("--set", "--column", "--edge-column")  # what they name is named in the error
RECORDS = ("import.json", "config.json", "tuning.json")  # of what was given: that it is there shows no effect
# that they are read shows in an error
NO_SUCCESS = ("--device cuda", "--budget 1x", "--set strict=true", "--set separator=;")


def commands(command, path=()):
    """All commands with their paths."""
    found = [(path, command)]
    for name, one in getattr(command, "commands", {}).items():
        found += commands(one, (*path, name))
    return found


@cache
def options():
    """Every option, with its command."""
    found = set()
    for path, command in commands(typer.main.get_command(app)):
        names = [one.opts[0] for one in command.params if one.param_type_name == "option"]
        found |= {(path, name) for name in names if name != "--help"}
    return found


def claimed(call, text):
    """The command of a call, and the option that is given to it."""
    words, paths = call.split(), {path for path, _ in options()}
    path = next(path for n in (2, 1, 0) if (path := tuple(words[:n])) in paths or not n)
    return path, text.split()[0]


def test_every_option_has_a_claim():
    claims = {claimed(*one) for one in (*CHANGES, *RECORDED)}
    missing = [" ".join((*path, name)) for path, name in sorted(options() - claims)]
    assert not missing, f"say in this file what these options change, or where they are recorded: {missing}"
    unknown = claims | {claimed(*one) for one in REFUSED}
    assert not unknown - options(), "these options do not exist"


def test_every_setting_that_is_no_setting_of_a_training_has_a_claim():
    claims = {
        (call.split()[0], text.rpartition("--set ")[2].partition("=")[0])
        for call, text in (*CHANGES, *REFUSED)
        if "--set" in text
    }
    names = {"import": import_tables.SETTINGS, "predict": prediction.SETTINGS, "serve": inspecting.LIMITS}
    assert not {(command, name) for command, some in names.items() for name in some} - claims


@pytest.fixture(scope="module")
def template(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, graphs and models, for all calls."""
    folder = tmp_path_factory.mktemp("template")
    parts, colors = ("train", "validation", "train", "test"), ("red", "green", "blue")
    names = [f"n{i}" for i in range(40)]
    head = "id,code,class,mixed,amount,size,note,title,part\n"
    labels = [*("no", "yes") * 18, *[""] * 4]
    rows = [
        f"{n},{n},{labels[i]},{('No', 'no', 'yes')[i % 3]},{i % 2 + i * 7 % 10 / 10},{i % 5 + 1},{colors[i % 3]},"
        f"café {i},"
        for i, n in enumerate(names)
    ]
    text = head + "".join(f"{row}{parts[i // 2 % 4] if i < 36 else ''}\n" for i, row in enumerate(rows))
    ends = [(i, (i * 7 + 3) % 40, (i * 3 + 1) % 40, (i * 11 + 2) % 40) for i in range(40)] * 2
    lines = [
        f"n{a},n{b},n{c},n{d},{i % 4 + 1},2026-03-{i % 28 + 1:02},{'ab'[i % 2]}\n"
        for i, (a, b, c, d) in enumerate(ends)
    ]
    edges = "source,target,from,to,count,day,sort\n" + "".join(lines)
    files = {
        "nodes.csv": text, "later.csv": text.replace("0.7", "0.9").replace("red", "blue"), "edges.csv": edges,
        "fewer.csv": "".join(edges.splitlines(keepends=True)[:-9]), "token": "0123456789abcdef0123",
        "more.csv": "id,code,mixed,amount,size,note,title\nx1,x1,no,1.5,2,red,new\n",
        "taken.csv": "a\n", "taken.html": "a\n",
        "keyed.csv": "key,code,mixed,amount,size,note,title\nx1,x1,no,1.5,2,red,new\n",
        "ends.csv": "source,target,from,to,count,day,sort\nx1,n3,n1,n2,2,2026-03-01,a\n",
        "pairs.csv": "source,target,type\nn1,n3,a\n", "settings.toml": "temperature = 0.3\n",
        "loose.csv": edges + "n1,n99,n1,n2,2,2026-03-01,a\n", "authors.csv": "id,age\na1,30\na2,40\na3,50\n",
        "writes.csv": "source,target\n" + "".join(f"a{i % 3 + 1},n{i}\n" for i in range(40)),
        "preset.toml": 'preset = "paper"\n',
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "halted" / ".training").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for call in (
            f"{IMPORT} --column part=split --out graph",
            f"{IMPORT.replace('nodes.csv', 'later.csv')} --like graph --column part=split --out later",
            f"{IMPORT} --edge-column sort=type --out typed", f"{TRAIN} --calibration 0.5 --out model",
            f"{LINKS} --out links", f"{ALL} --out done",
        ):  # fmt: skip
            result = run(*call.split())
            assert result.exit_code == 0, result.output
    for name in ("graph", "model"):
        shutil.copytree(folder / name, folder / "started" / name)
    return folder


def with_option(call, text):
    """A call with an option, which replaces the same one."""
    name, *value = text.split()
    words = call.split()
    if name in words and value and name != "--set":
        place = len(words) - 1 - words[::-1].index(name)
        return (*words[:place], *words[place + 2 :], name, *value)
    if name == "--set" and (same := [i for i, one in enumerate(words) if one.startswith(value[0].split("=")[0] + "=")]):
        return (*words[: same[0]], value[0], *words[same[0] + 1 :])
    return (*words, name, *value)


@pytest.fixture(scope="module")
def outcome(run: Run, template: Path, tmp_path_factory: pytest.TempPathFactory):
    """What a call prints and writes, by name, beside copies of the files it names; each ``number`` is another run."""

    def call(words: tuple[str, ...], number: int = 0) -> dict[str, bytes | str | int]:
        folder = tmp_path_factory.mktemp("call")
        for path in template.iterdir():
            if path.name in words or any(word.endswith(f"={path.name}") for word in words):
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(torch.cuda, "is_available", lambda: False)
            patch.setattr("se_gnn.apps.explorer.create_app", lambda store, settings: (store, settings))
            patch.setattr("se_gnn.apps.web.server.run_server", served)
            result = run(*words)
        assert result.exit_code in (0, 2), result.output
        written = [
            path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.name not in RECORDS
        ]
        files = {str(path): (folder / path).read_bytes() for path in written}
        for path in written:
            if (template / path).is_file() and files[str(path)] == (template / path).read_bytes():
                del files[str(path)]  # a copy that the call left as it was
        printed = re.sub(r"[\d.e-]+ s\b", "", result.stdout)  # without times
        return {**files, "exit code": result.exit_code, "printed": printed, "error": result.stderr}

    return cache(call)


def served(application, *, host, port, ready):
    """In place of a server that runs: say what it would serve."""
    store, settings = application
    print(store.snapshot.trained.graph.name, settings, host, port)
    ready("http://address/")


def differences(one, other):
    return {name for name in {*one, *other} - {"error"} if one.get(name) != other.get(name)}


@pytest.mark.filterwarnings("ignore:calibrated on validation nodes")
@pytest.mark.parametrize(("call", "text"), CHANGES)
def test_an_option_changes_what_a_call_prints_or_writes(outcome, call, text):
    words = tuple(call.split())
    before, again, after = outcome(words), outcome(words, 1), outcome(with_option(call, text))
    expected = 2 if text in NO_SUCCESS else 0
    assert after["exit code"] == expected, after["error"]
    assert differences(before, after) - differences(before, again), after["printed"]


@pytest.mark.parametrize(("call", "text"), RECORDED)
def test_an_option_is_recorded_as_it_was_given(outcome, call, text):
    before, after, value = outcome(tuple(call.split())), outcome(with_option(call, text)), text.split()[1].encode()
    changed = differences(before, after) - {"printed"}
    assert after["exit code"] == 0
    assert any(value in after[name] for name in changed)


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_an_option_without_an_effect_is_refused_by_its_name(run, template, call, text, monkeypatch):
    monkeypatch.chdir(template)  # a refused call writes nothing
    name, *value = text.split()
    result = run(*call.split(), name, *value)
    assert result.exit_code == 2, result.output
    said = [name.removeprefix("--"), *(one.split("=")[0] for one in value if name in NAMED_BY_VALUE)]
    assert any(one in result.stderr for one in said)
    assert not [path for path in template.iterdir() if path.name.startswith(("new", "grown"))]
