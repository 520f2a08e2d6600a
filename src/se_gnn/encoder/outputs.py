"""Someone else's model as an encoder: what it computes for every node, read once and never trained.

A node is represented by the model's embedding and, beside it, by the square roots of the model's class probabilities.
Both parts have length 1 and are weighted, so that the cosine of two nodes is a weighted mean of the cosine of their
embeddings and of the overlap of their probabilities (Bhattacharyya's coefficient). Shapes: N nodes, D dimensions, C
classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.files import sha256
from se_gnn.graph import Graph
from se_gnn.settings import AgreementObjective, Resolved

Reading = str | Callable[[nn.Module, Any], Any] | None  # where embeddings are read
EDGE_ARGUMENTS = ("edge_weight", "edge_attr")  # passed on if the model takes them and the data has them
CLOSE = 1e-3  # rows of probabilities add up to 1 within this


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model computes for the nodes of a graph.

    Shapes:
        - **embeddings:** :math:`(N, D)`, D = 0 if only its probabilities are compared
        - **probabilities:** :math:`(N, C)`, rows of zeros for nodes of which it predicts nothing
        - **labels:** :math:`(N,)` the known class of each node, -1 if unknown; the model may answer otherwise
    """

    embeddings: Tensor
    probabilities: Tensor
    labels: Tensor
    layer: str = ""  # where embeddings were read, in words

    @property
    def classes(self) -> Tensor:
        """The model's answer for each node, [N]; -1 if it predicts nothing of the node."""
        best = self.probabilities.argmax(dim=1)
        return best.masked_fill(self.probabilities.sum(dim=1) == 0, -1)

    @property
    def digest(self) -> str:
        """Tells these outputs from those of another model, or of changed code."""
        parts = (self.embeddings, self.probabilities)
        return sha256(b"".join(part.cpu().contiguous().numpy().tobytes() for part in parts))


@dataclass(frozen=True, eq=False)
class OutputEncoder:
    """Embeddings that were read from someone else's model; an :class:`~se_gnn.encoder.protocol.Encoder`."""

    outputs: Outputs
    settings: Resolved
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    reads_target: bool = False

    @property
    def objective(self) -> AgreementObjective:
        """How embeddings and probabilities are combined."""
        assert isinstance(self.settings.objective, AgreementObjective)
        return self.settings.objective

    @property
    def width(self) -> int:
        """D + C."""
        return self.outputs.embeddings.shape[1] + self.outputs.probabilities.shape[1]

    def check(self, graph: Graph) -> None:
        """Refuse a graph of another size: this encoder cannot compute anything new."""
        known = len(self.outputs.probabilities)
        if graph.num_nodes != known:
            raise InputError(
                f"{graph.name} has {graph.num_nodes:,} nodes, but the outputs of the explained model were read for "
                f"{known:,}: new nodes and other graphs need the model itself; make a CaseExplainer with the model "
                "and this graph"
            )

    def embed(self, graph: Graph, *, max_memory: int | str | None = None) -> Tensor:
        """Both parts side by side, [N, D + C]."""
        self.check(graph)
        return combined(self.outputs, self.objective.probability_share, self.objective.sharpness).to(self.device)

    def edge_terms(self, graph: Graph) -> None:
        """Edges add nothing: they are compared by their ends."""
        return

    def to_bytes(self) -> bytes:
        """The outputs, as they are stored."""
        outputs = self.outputs
        return save(
            {"embeddings": outputs.embeddings, "probabilities": outputs.probabilities, "labels": outputs.labels}
        )

    @classmethod
    def from_tensors(cls, stored: Mapping[str, Tensor], graph: Graph, settings: Resolved, where: str) -> OutputEncoder:
        """What :meth:`to_bytes` wrote, checked against the graph; ``where`` names the file in errors."""
        wanted = {"embeddings": torch.float32, "probabilities": torch.float32, "labels": torch.int64}
        if stored.keys() != wanted.keys() or any(stored[name].dtype != kind for name, kind in wanted.items()):
            raise InputError(f"{where} must hold the tensors {', '.join(wanted)}, as float32 and int64")
        outputs = Outputs(stored["embeddings"], stored["probabilities"], stored["labels"])
        if outputs.embeddings.dim() != 2 or outputs.probabilities.shape != (graph.num_nodes, graph.num_classes):
            raise InputError(f"{where} does not fit the graph beside it: another number of nodes or classes")
        if len(outputs.embeddings) != graph.num_nodes or outputs.labels.shape != (graph.num_nodes,):
            raise InputError(f"{where} does not fit the graph beside it: another number of nodes")
        if not all(bool(torch.isfinite(one).all()) for one in (outputs.embeddings, outputs.probabilities)):
            raise InputError(f"{where} holds values that are not finite")
        return cls(outputs, settings)


def combined(outputs: Outputs, share: float, sharpness: float) -> Tensor:
    """What nodes are compared by, [N, D + C]; ``share`` is the weight of the probabilities in the cosine."""
    powers = outputs.probabilities.double() ** sharpness
    roots = (powers / powers.sum(dim=1, keepdim=True).clamp_min(1e-300)).sqrt().float()
    lengths = outputs.embeddings.norm(dim=1, keepdim=True)
    units = outputs.embeddings / torch.where(lengths > 0, lengths, 1)
    return torch.cat([(1 - share) ** 0.5 * units, share**0.5 * roots], dim=1)


def read_outputs(model: nn.Module, data: Any, graph: Graph, *, embeddings: Reading = None) -> Outputs:
    """Run a model once on a PyG ``Data`` or ``HeteroData`` and read its embeddings and class probabilities.

    Args:
        model: any module with PyG's calling convention; it is not changed.
        data: what it is called with.
        graph: the same graph as ours: nodes in the same order, of several types one type after the other.
        embeddings: None: the input of the last layer; the name of a submodule: its input; or a function of model and
            data that returns a row for each node (for ``HeteroData`` a dictionary by node type).
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if model.training:
        raise InputError("model must be in evaluation mode, it is in training mode: call model.eval() first")
    _check_device(model, data)
    known = dict(model.named_modules())
    if isinstance(embeddings, str) and embeddings not in known:
        raise InputError(f"embeddings must name a submodule, got {embeddings!r}{did_you_mean(embeddings, known)}")
    first, calls = _called(model, data)
    again, _ = _called(model, data)
    answers = _rows(first, graph, "output")
    if not torch.equal(answers, _rows(again, graph, "output")):
        raise InputError("model must give the same answer twice, it does not: is dropout, or other chance, still on?")
    probabilities, labels = _as_probabilities(answers, graph), torch.tensor(graph.labels)
    if callable(embeddings):
        with torch.no_grad():
            found, layer = embeddings(model, data), "a function"
    else:
        found, layer = _layer_input(calls, first, embeddings)
    if found is None:
        nothing = torch.zeros(graph.num_nodes, 0)
        return Outputs(nothing, probabilities, labels, "none: only the probabilities are compared")
    return Outputs(_rows(found, graph, "embeddings"), probabilities, labels, layer)


def _check_device(model: nn.Module, data: Any) -> None:
    places = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    stores = data.node_stores
    places |= {store.x.device for store in stores if getattr(store, "x", None) is not None}
    if len(places) > 1:
        names = ", ".join(sorted(map(str, places)))
        raise InputError(f"model and graph must be on one device, they are on {names}: move one with .to(device)")


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    given: Any  # its first argument
    returned: Any


@torch.no_grad()
def _called(model: nn.Module, data: Any) -> tuple[Any, list[_Call]]:
    """What the model returns, and what its layers were given and returned, in the order in which they began.

    A layer is a module with parameters of its own or a whole message passing layer, not a part of one.
    """
    begun: list[tuple[str, Any]] = []
    calls: dict[int, _Call] = {}
    hooks: list[Any] = []
    inside: list[str] = []
    for name, module in model.named_modules():
        if not name or any(name.startswith(f"{outer}.") for outer in inside):
            continue
        passing = any(kind.__name__ == "MessagePassing" for kind in type(module).__mro__)
        if passing:
            inside.append(name)
        if passing or any(True for _ in module.parameters(recurse=False)):
            hooks += _hooked(name, module, begun, calls)
    try:
        args, kwargs = _arguments(model, data)
        result = model(*args, **kwargs)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"model could not be called as PyG models are, model(x, edge_index, ...): {type(error).__name__}: {error}"
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    return result, [calls[place] for place in sorted(calls)]


def _hooked(name: str, module: nn.Module, begun: list[tuple[str, Any]], calls: dict[int, _Call]) -> list[Any]:
    open_calls: list[int] = []

    def before(_: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        open_calls.append(len(begun))
        begun.append((name, args[0] if args else next(iter(kwargs.values()), None)))

    def after(_: nn.Module, __: Any, returned: Any) -> None:
        place = open_calls.pop()
        calls[place] = _Call(name, begun[place][1], returned)

    return [module.register_forward_pre_hook(before, with_kwargs=True), module.register_forward_hook(after)]


def _arguments(model: nn.Module, data: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a model is called with, by PyG's convention."""
    if hasattr(data, "x_dict"):
        pairs: dict[str, Any] = {"edge_index": data.edge_index_dict}
        first = data.x_dict
        fields = {name: {kind: getattr(data[kind], name, None) for kind in data.edge_types} for name in EDGE_ARGUMENTS}
        extra = {f"{name}_dict": found for name, found in fields.items() if all(v is not None for v in found.values())}
    else:
        pairs, first = {"edge_index": data.edge_index}, data.x
        extra = {name: getattr(data, name) for name in EDGE_ARGUMENTS if getattr(data, name, None) is not None}
    taken = inspect.signature(model.forward).parameters
    return (first, *pairs.values()), {name: value for name, value in extra.items() if name in taken}


def _layer_input(calls: list[_Call], result: Any, named: str | None) -> tuple[Any, str]:
    """The input of a layer: of the one that is named, or of the last one whose output is as wide as the model's."""
    if named is not None:
        found = [call for call in calls if call.name == named]
        if not found:
            raise InputError(f"embeddings names {named!r}, which the model did not call, or which has no parameters")
        return found[-1].given, f"the input of {named}"
    if isinstance(result, Mapping):
        return None, ""  # a model of several node types has a layer for each: the user may name one
    last = [call for call in calls if isinstance(call.returned, Tensor) and call.returned.shape == result.shape]
    given = last[-1].given if last else None
    if not isinstance(given, Tensor) or given.dim() != 2 or len(given) != len(result):
        raise InputError(
            "no last layer was found whose input has a row for each node: name a submodule with embeddings='...', or "
            "give a function of the model and the data that returns the embeddings"
        )
    return given, f"the input of {last[-1].name}"


def _rows(found: Any, graph: Graph, what: str) -> Tensor:
    """A row for each node of the graph; of several types, zeros for nodes of types that have none."""
    if isinstance(found, Mapping):
        width = max((int(value.shape[1]) for value in found.values() if value.dim() == 2), default=0)
        rows = torch.zeros(graph.num_nodes, width)
        for name, value in found.items():
            nodes = _of_type(graph, name, what)
            _check_rows(value, len(nodes), f"{what} of {name}")
            if value.shape[1] == width:
                rows[torch.from_numpy(nodes)] = value.detach().float().cpu()
        return rows
    if isinstance(found, Tensor) and graph.node_types is not None and graph.target.node_type is not None:
        nodes = _of_type(graph, graph.target.node_type, what)
        if len(found) == len(nodes) != graph.num_nodes:
            rows = torch.zeros(graph.num_nodes, found.shape[1] if found.dim() == 2 else 0)
            _check_rows(found, len(nodes), what)
            rows[torch.from_numpy(nodes)] = found.detach().float().cpu()
            return rows
    _check_rows(found, graph.num_nodes, what)
    own: Tensor = found.detach().float().cpu().contiguous()
    return own


def _of_type(graph: Graph, name: str, what: str) -> Any:
    if graph.node_types is None or name not in graph.node_type_names:
        raise InputError(f"{what} is for nodes of type {name!r}, which {graph.name} does not have")
    return np.flatnonzero(graph.node_types == graph.node_type_names.index(name))


def _check_rows(found: Any, count: int, what: str) -> None:
    if not isinstance(found, Tensor) or found.dim() != 2 or len(found) != count:
        shape = tuple(found.shape) if isinstance(found, Tensor) else shortened(found)
        raise InputError(f"{what} of the model must have a row for each of the {count:,} nodes, got {shape}")
    if not bool(torch.isfinite(found).all()):
        raise InputError(f"{what} of the model must be finite, got NaN or infinite values")


def _as_probabilities(answers: Tensor, graph: Graph) -> Tensor:
    """Class probabilities from logits, logarithms of probabilities, or probabilities; rows of zeros stay."""
    if answers.shape[1] != graph.num_classes:
        raise InputError(
            f"output of the model must have a column for each of the {graph.num_classes} classes of {graph.name}, got "
            f"{answers.shape[1]}"
        )
    several = graph.node_types is not None and graph.target.node_type is not None
    rows = answers.abs().sum(dim=1) > 0 if several else torch.ones(len(answers), dtype=torch.bool)
    given = answers[rows].double()
    sums = given.sum(dim=1), given.exp().sum(dim=1)
    if bool((given >= 0).all()) and bool(((sums[0] - 1).abs() < CLOSE).all()):
        found = given / given.sum(dim=1, keepdim=True)
    elif bool((given <= 0).all()) and bool(((sums[1] - 1).abs() < CLOSE).all()):
        found = given.exp()
    else:
        found = given.softmax(dim=1)
    result = torch.zeros(answers.shape, dtype=torch.float32)
    result[rows] = found.float()
    return result
