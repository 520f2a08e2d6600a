"""What a training step leaves out of the encoder, drawn beforehand. Shapes: N nodes, F features, D hidden."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from se_gnn.encoder.inputs import EncoderInputs
from se_gnn.settings import EncoderSettings, NumberObjective, VoteObjective


class Drawn:
    """What was drawn for a training step, as a dataclass whose fields know how to move to a device, or stay."""

    __slots__ = ()

    def to(self, device: torch.device) -> Self:
        """The same on a device."""
        return dataclasses.replace(self, **{name: _moved(value, device) for name, value in self._fields()})  # type: ignore[type-var]

    def copy_(self, other: Self) -> None:
        """Take over what was drawn for another step, in place."""
        for (_, own), (_, theirs) in zip(self._fields(), other._fields(), strict=True):
            if own is not None:
                own.copy_(theirs)

    def _fields(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(one, device) for one in value)
    return value.to(device) if hasattr(value, "to") else value


@dataclass(frozen=True, slots=True, eq=False)
class Dropout(Drawn):
    """Factors: 0 where something is left out, 1 / (1 - rate) where it stays, so that sums keep their mean.

    Shapes:
        - **attributes:** as the stored values of X
        - **hidden:** one :math:`(N, D)` per hidden layer, and per residual layer after them
    """

    attributes: Tensor | None
    hidden: tuple[Tensor, ...]

    @classmethod
    def draw(
        cls,
        inputs: EncoderInputs,
        encoder: EncoderSettings,
        shares: VoteObjective | NumberObjective,
        *,
        generator: np.random.Generator,
    ) -> Dropout:
        """Draw which attributes, whole rows of attributes and hidden units are left out."""
        num_nodes = inputs.propagation.rows.shape[0]
        attributes = None
        if shares.attribute_dropout > 0:
            attributes = _factors(inputs.stored_shape, shares.attribute_dropout, generator)
        if shares.node_dropout > 0:
            rows = _factors((num_nodes,), shares.node_dropout, generator)
            spread = inputs.by_row(rows)
            attributes = spread if attributes is None else attributes * spread
        hidden: tuple[Tensor, ...] = ()
        if shares.hidden_dropout > 0:
            shape = (num_nodes, encoder.hidden_size)
            count = encoder.num_layers - 1 + (encoder.steps if encoder.aggregation == "layers" else 0)
            hidden = tuple(_factors(shape, shares.hidden_dropout, generator) for _ in range(count))
        return cls(attributes, hidden)

    def of_attributes(self, inputs: EncoderInputs) -> EncoderInputs:
        """The attributes without those that are left out."""
        return inputs if self.attributes is None else inputs.masked(self.attributes)

    def of_hidden(self, h: Tensor, layer: int) -> Tensor:
        """The output of a hidden layer without the units that are left out."""
        return h * self.hidden[layer] if self.hidden else h


def _factors(shape: tuple[int, ...], rate: float, generator: np.random.Generator) -> Tensor:
    """A byte is drawn for each, so that the rate is one of 256: much faster than a number of 32 bits."""
    dropped = min(255, max(1, round(256 * rate)))
    drawn = np.frombuffer(generator.bytes(math.prod(shape)), np.uint8)
    return torch.from_numpy(((drawn >= dropped) * np.float32(256 / (256 - dropped))).reshape(shape))
