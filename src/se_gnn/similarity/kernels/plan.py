"""What edge matching runs over: which edges ask, which local graphs answer. Fixed while the embeddings change.

Shapes: Q query edges, K key edges, L local graphs, P distinct ends of the key edges.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.attributed import Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs


@dataclass(frozen=True, slots=True, eq=False)
class DeviceIndex:
    """The index arrays of a plan as tensors."""

    query_ends: Tensor  # [Q, 2] node ids
    key_node_ends: Tensor  # [K, 2] node ids
    ptr: Tensor
    members: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class MatchPlan:
    r"""For every query edge, find its best match in each of L local graphs.

    A *key* is an edge that lies in at least one of those local graphs; it is kept once.

    Shapes:
        - **query_ids:** :math:`(Q,)`, **query_ends:** :math:`(Q, 2)` node ids
        - **key_ids:** :math:`(K,)`, **key_ends:** :math:`(K, 2)` positions in ``key_nodes``
        - **key_nodes:** :math:`(P,)` node ids
        - **ptr:** :math:`(L + 1,)`, **members:** :math:`(\sum_l |E_l|,)` positions in ``key_ids``, ascending in a row
    """

    query_ids: IntArray
    query_ends: IntArray
    key_ids: IntArray
    key_ends: IntArray
    key_nodes: IntArray
    ptr: IntArray
    members: Int32Array
    _devices: dict[torch.device, DeviceIndex] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(cls, edges: IntArray, query_ids: IntArray, local: LocalGraphs) -> MatchPlan:
        """Plan the matching of ``edges[query_ids]`` with the edges of ``local``."""
        key_ids = local.union()
        key_nodes, key_ends = np.unique(edges[key_ids], return_inverse=True)
        return cls(
            query_ids=query_ids,
            query_ends=edges[query_ids],
            key_ids=key_ids,
            key_ends=key_ends.reshape(-1, 2).astype(np.int64),
            key_nodes=key_nodes,
            ptr=local.ptr,
            members=local.positions(key_ids),
        )

    def on(self, device: torch.device) -> DeviceIndex:
        """What a kernel on another device reads, moved there once."""
        if device not in self._devices:
            arrays = (self.query_ends, self.key_node_ends, self.ptr, self.members)
            self._devices[device] = DeviceIndex(*(torch.tensor(array, device=device) for array in arrays))
        return self._devices[device]

    def block(self, low: int, high: int) -> MatchPlan:
        """The same queries with the local graphs ``low`` to ``high`` alone; what is on a device stays there."""
        part = dataclasses.replace(self, ptr=self.ptr[low : high + 1])
        for device, index in self._devices.items():
            part._devices[device] = dataclasses.replace(index, ptr=index.ptr[low : high + 1])
        return part

    @property
    def num_queries(self) -> int:
        """Q."""
        return len(self.query_ids)

    @property
    def num_local(self) -> int:
        """L."""
        return len(self.ptr) - 1

    @property
    def key_node_ends(self) -> IntArray:
        """Node ids of the ends of the keys, [K, 2]."""
        return self.key_nodes[self.key_ends]
