"""Training of a network on one graph: Adam, the best epoch by validation accuracy, patience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from se_gnn.errors import InputError
from se_gnn.graph import Graph

if TYPE_CHECKING:
    from lab.baselines.network import Network, NetworkSettings


@dataclass(frozen=True, slots=True)
class Record:
    """What one epoch said; NaN where there are no validation nodes."""

    loss: float
    val_accuracy: float
    val_loss: float

    def better_than(self, other: Record) -> bool:
        """Higher validation accuracy, then lower validation loss."""
        return (self.val_accuracy, -self.val_loss) > (other.val_accuracy, -other.val_loss)


def train_network(
    network: Network,
    x: Tensor,
    edge_index: Tensor,
    graph: Graph,
    settings: NetworkSettings,
    *,
    seed: int,
    progress: bool = False,
) -> list[Record]:
    """Train in place and keep the parameters of the best epoch; without validation nodes, those of the last one."""
    labels, train, val = (torch.tensor(part, device=x.device) for part in (graph.labels, graph.train, graph.validation))
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    generator = np.random.default_rng(seed)
    dropped = _InputDropout(x, settings.input_dropout)
    history: list[Record] = []
    best, best_parameters = -1, network.state_dict()
    bar = tqdm(range(settings.epochs), disable=not progress, unit="epoch", dynamic_ncols=True, leave=False)
    for epoch in bar:
        network.train()
        optimizer.zero_grad()
        network.draw(graph, generator=generator)
        loss = functional.cross_entropy(network(dropped(), edge_index)[train], labels[train])
        own = network.own_loss()
        if own is not None:
            loss = loss + own
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        network.eval()
        record = Record(float(loss.detach()), *_validate(network, x, edge_index, labels, val))
        if not np.isfinite(record.loss):
            raise InputError(f"the loss of epoch {epoch} is {record.loss}: lower learning_rate")
        history.append(record)
        if best < 0 or not len(val) or record.better_than(history[best]):
            best = epoch
            best_parameters = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        bar.set_postfix(loss=f"{record.loss:.3f}", val=f"{record.val_accuracy:.1%}")
        if settings.patience is not None and epoch - best >= settings.patience:
            break
    bar.close()
    network.load_state_dict(best_parameters)
    network.eval()
    return history


@torch.no_grad()
def _validate(network: Network, x: Tensor, edge_index: Tensor, labels: Tensor, val: Tensor) -> tuple[float, float]:
    """Accuracy and loss on the validation nodes."""
    if not len(val):
        return float("nan"), float("nan")
    scores = network(x, edge_index)[val]
    accuracy = (scores.argmax(dim=1) == labels[val]).float().mean()
    return float(accuracy), float(functional.cross_entropy(scores, labels[val]))


class _InputDropout:
    """Dropout of attributes that draws for those that are not 0 alone: the others, most of them, stay 0 anyway."""

    def __init__(self, x: Tensor, rate: float) -> None:
        self.x, self.rate = x, rate
        self.filled = x.flatten().nonzero().flatten()
        self.values = x.flatten()[self.filled]

    def __call__(self) -> Tensor:
        if not self.rate:
            return self.x
        out = torch.zeros_like(self.x)
        out.view(-1)[self.filled] = functional.dropout(self.values, self.rate)
        return out
