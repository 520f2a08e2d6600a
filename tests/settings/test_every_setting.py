"""No setting is ignored: whatever is given is refused with a reason, or it holds and has an effect.

Every setting is given at its default, at the value that the preset has, and at another value, under every preset.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache

import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from se_gnn import SEGNNClassifier
from se_gnn.encoder.outputs import Outputs
from se_gnn.errors import InputError
from se_gnn.estimator import NAMED
from se_gnn.graph import Numbers
from se_gnn.settings import Settings
from se_gnn.settings.presets import NOT_TRAINED, PRESETS
from se_gnn.settings.reading import asked_settings
from se_gnn.settings.sections import DEFAULTS, OWNERS
from se_gnn.training import fit
from se_gnn.training.agreement import agreeing_model, explained_graph
from strategies import random_graph, rich_graph

PLAIN = random_graph(4, num_nodes=90, num_labeled=45)
RICH = rich_graph(4, num_nodes=90, num_edges=150, num_labeled=44, num_classes=3)
NUMBERS = RICH.replace(target=Numbers.build(RICH.labels + 0.5))

# a value that no preset has
OTHER = {
    "hidden_size": 7, "output_size": 5, "num_layers": 3, "aggregation": "steps", "steps": 3, "teleport": 0.35,
    "weight_init": None, "scale_init": "uniform", "attribute_scaling": None, "members": 2, "attribute_share": 0.35,
    "read_edges": None, "weighted_steps": None, "read_neighbors": None, "read_values": None, "value_scale": "log",
    "hidden_values": 0.5, "node_weight": 0.25, "hops": 1, "max_edges": 3, "measure": None,
    "directions": None, "match_direction": None, "match_types": "learned", "match_attributes": None,
    "weighted_mean": None, "num_nearest": 4, "temperature": 0.45, "references": None, "num_negatives": 2,
    "support_size": 2, "max_local_edges": 2, "probability_floor": 0.6, "node_loss_weight": 0.4,
    "edge_loss_weight": 0.4, "mask_rate": 0.7, "edge_noise": 0.6, "node_batch": 3, "edge_batch": 3,
    "node_negatives": 2, "edge_negatives": 2, "negative_views": None, "compare": None, "attribute_dropout": 0.35,
    "hidden_dropout": 0.35, "node_dropout": 0.35, "memory_dropout": 0.35, "label_smoothing": 0.3,
    "balance_classes": True, "consistency_weight": 9.0, "consistency_power": 4.0, "consistency_ramp": 1,
    "consistency_batch": 5, "label_batch": 6, "memory_batch": 7, "reserve": 0.15, "role_weight": 0.7,
    "class_factors": (0.5, 2.0, 3.0),
    "objective": None, "epochs": 2, "patience": 1, "learning_rate": 0.07,
    "weight_decay": 0.3, "best_by": "loss", "choose_vote": None, "portfolio": None,
    "probability_share": 0.3, "sharpness": 4.0,
}  # fmt: skip
SWITCHES = {
    "weight_init": ("xavier", "fan_in"), "attribute_scaling": ("raw", "unit"), "measure": ("cosine", "distance"),
    "directions": ("one", "both"), "references": ("support", "nearest"), "negative_views": ("both", "second"),
    "compare": ("overall", "node"), "objective": ("paper", "vote"),
}  # fmt: skip


def other_value(name, preset, graph=None, **given):
    """A value that the preset with these settings does not have."""
    if OTHER[name] is not None:
        return OTHER[name]
    now = given.get(name, Settings(preset).resolve(graph).values().get(name, DEFAULTS[name]))
    return next(value for value in SWITCHES.get(name, (True, False)) if value != now)


def values_of(name, preset):
    own = Settings(preset).resolve().values().get(name, DEFAULTS[name])
    found = [DEFAULTS[name], own, other_value(name, preset)]
    return ["none" if value is None else value for value in found]


def resolved(preset, graph, **given):
    """What holds then; None: it is refused by name."""
    try:
        return Settings.of(preset, **given).resolve(graph)
    except InputError as error:
        if not any(name in str(error) for name in given):
            raise
        return None


@pytest.mark.parametrize("preset", [*PRESETS, *NOT_TRAINED])
@pytest.mark.parametrize("name", OWNERS)
def test_a_given_setting_holds_as_it_is_or_is_refused(name, preset):
    for graph in (None, PLAIN, RICH, *([NUMBERS] if preset == "best" else [])):
        for value in values_of(name, preset):
            found = resolved(preset, graph, **{name: value})
            if found is not None:
                kept = None if value == "none" else value
                assert (found.values()[name], found.origin[name]) == (kept, "given")
                assert found.to_dict()["given"][name] == {"value": kept, "source": "python"}


def outcome(make, graph):
    """The values that hold and what was given, or the reason of a refusal."""
    try:
        found = make().resolve(graph)
    except InputError as error:
        return str(error)
    return found.values(), found.origin, {name: one.value for name, one in found.asked.given.items()}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", OWNERS)
def test_a_setting_means_the_same_in_python_in_a_file_and_on_the_command_line(name, preset, tmp_path):
    file = tmp_path / "settings.toml"
    for value in values_of(name, preset):
        text = f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        file.write_text(f'preset = "{preset}"\n{name} = {json.dumps(value)}\n')
        ways = (
            lambda value=value: SEGNNClassifier(preset=preset, settings={name: value})._asked(),
            # as a grid search does it
            lambda value=value: clone(SEGNNClassifier(preset=preset)).set_params(settings={name: value})._asked(),
            lambda: asked_settings(None, file, []),
            lambda text=text: asked_settings(preset, None, [text]),
        )
        if name in NAMED:
            ways += (lambda value=value: SEGNNClassifier(preset=preset, **{name: value})._asked(),)
        for graph in (RICH, NUMBERS) if preset == "best" else (RICH,):
            found = [outcome(make, graph) for make in ways]
            assert all(one == found[0] for one in found), found


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_a_choice_that_a_preset_leaves_out_is_made_if_it_is_asked_for(preset):
    trained = fit(RICH, Settings.of(preset, choose_vote=True, epochs=1, hidden_size=4, num_nearest=5), seed=1)
    assert len(RICH.validation) >= 20
    assert trained.settings.vote.num_nearest == 5
    assert trained.settings.origin["temperature"] == trained.settings.origin["node_weight"] == "validation"
    assert any("settings" in decision.reason for decision in trained.settings.decisions)


@pytest.mark.parametrize("k", [10, 40])
def test_a_grid_search_tries_every_value_of_its_grid(k):
    graph = random_graph(1, num_nodes=150, num_edges=200, num_labeled=100)
    quick = SEGNNClassifier(epochs=1, members=1, settings={"portfolio": False, "hidden_size": 4}, device="cpu")
    search = GridSearchCV(quick, {"num_nearest": [k]}, cv=2).fit(graph.train, graph.labels[graph.train], graph=graph)
    assert search.best_estimator_.settings_.vote.num_nearest == k


# --- a training run that reads it

QUICK = {
    "epochs": 3, "hidden_size": 6, "num_nearest": 6, "node_weight": 0.4, "learning_rate": 0.05, "members": 1,
    "portfolio": False,
}  # fmt: skip
# what shows only if the best epoch is a later one, which it is in some runs
BY_LUCK = [name for name in OWNERS if name in ("epochs", "patience", "best_by") or name.startswith("consistency")]


generator = torch.Generator().manual_seed(0)
OUTPUTS = Outputs(  # of someone else's model
    torch.rand(RICH.num_nodes, 5, generator=generator),
    torch.rand(RICH.num_nodes, RICH.num_classes, generator=generator).mul(4).softmax(dim=1),
    torch.tensor(RICH.labels),
)
KINDS = {preset: (preset, RICH) for preset in PRESETS}
KINDS |= {"numbers": ("best", NUMBERS), "cases": ("cases", explained_graph(RICH, OUTPUTS, None, 0))}


# the loss of numbers is 1 - R2; and without steps to take, weighted_steps = false asks for nothing
SAME = (("best_by", "numbers"), ("weighted_steps", "numbers"))


@cache
def bits(kind, given, seed):
    """A digest of the runs, parameters and votes of a model that was trained for some epochs."""
    preset, graph = KINDS[kind]
    asked, digest = Settings.of(preset, **dict(given)), hashlib.sha256()
    if kind == "cases":
        trained = agreeing_model(OUTPUTS, graph, asked.resolve(graph))
    else:
        trained = fit(graph, asked, seed=seed)
        digest.update(repr([run.name for run in trained.facts.runs]).encode())
        for name, tensor in sorted(trained.encoder.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
    for ranking in trained.rank(depth=trained.settings.vote.num_nearest):
        for tensor in (ranking.positions, ranking.overall, ranking.weights):
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OWNERS)
def test_another_value_gives_another_model_or_an_error(name, kind):
    if (name, kind) in SAME:
        return
    usual = QUICK | ({"epochs": 8} if name in BY_LUCK else {})
    usual = {"num_nearest": 6, "node_weight": 0.4} if kind == "cases" else usual
    preset, graph = KINDS[kind]
    changed = usual | {name: other_value(name, preset, graph if kind == "numbers" else None, **usual)}
    if resolved(preset, graph, **changed) is not None:
        seeds = range(5) if name in BY_LUCK else (1,)
        assert any(bits(kind, tuple(changed.items()), seed) != bits(kind, tuple(usual.items()), seed) for seed in seeds)


@pytest.mark.parametrize("name", OWNERS)
def test_every_setting_can_be_given_with_some_preset(name):
    for preset, graph in [*((one, RICH) for one in (*PRESETS, *NOT_TRAINED)), ("best", NUMBERS)]:
        try:
            Settings.of(preset, **{name: other_value(name, preset)}).resolve(graph)
        except InputError:
            continue
        return
    pytest.fail(f"{name} is refused under every preset")
