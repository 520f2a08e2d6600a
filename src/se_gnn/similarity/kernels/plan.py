"""What edge matching runs over: which edges ask, which local graphs answer. Fixed while the embeddings change.

Shapes: Q query edges, K key edges, L local graphs, P distinct ends of the key edges, H hubs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs, csr_rows


@dataclass(frozen=True, slots=True, eq=False)
class DeviceIndex:
    """The index arrays of a plan as tensors."""

    query_ends: Tensor  # [Q, 2] node ids
    key_node_ends: Tensor  # [K, 2] node ids
    ptr: Tensor
    members: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class KeyCover:
    r"""The keys of each local graph as a union: all keys at its *hubs*, nodes that local graphs share, and *others*.

    Shapes:
        - **at_hub_ptr:** :math:`(H + 1,)`, **at_hub:** keys, ascending in a row
        - **hub_ptr:** :math:`(L + 1,)`, **hubs**
        - **other_ptr:** :math:`(L + 1,)`, **others:** keys, ascending in a row
    """

    at_hub_ptr: IntArray
    at_hub: Int32Array
    hub_ptr: IntArray
    hubs: Int32Array
    other_ptr: IntArray
    others: Int32Array

    @classmethod
    def one_by_one(cls, ptr: IntArray, members: Int32Array) -> KeyCover:
        """Without hubs."""
        nothing = np.empty(0, np.int32)
        return cls(np.zeros(1, np.int64), nothing, np.zeros(len(ptr), np.int64), nothing, ptr, members)

    @classmethod
    def build(cls, edges: IntArray, key_ids: IntArray, local: LocalGraphs) -> KeyCover:
        """By the cover that the local graphs come with, if that takes fewer steps than their members one by one."""
        plain = cls.one_by_one(local.ptr, local.positions(key_ids))
        cover = local.cover
        if cover is None or len(cover.inner) + len(cover.rim) >= len(plain.others):
            return plain
        place = np.full(1 + max(cover.inner.max(initial=0), edges.max(initial=0)), -1, np.int32)
        place[cover.inner] = 0
        inner = np.flatnonzero(place == 0)
        place[inner] = np.arange(len(inner), dtype=np.int32)
        at_hub_ptr, at_hub = _keys_at(edges, key_ids, place, len(inner))
        if len(at_hub) + len(cover.inner) + len(cover.rim) >= len(plain.others):
            return plain
        others = dataclasses.replace(local, ptr=cover.rim_ptr, edge_ids=cover.rim).positions(key_ids)
        return cls(at_hub_ptr, at_hub, cover.inner_ptr, place[cover.inner], cover.rim_ptr, others)

    def block(self, low: int, high: int) -> KeyCover:
        """The local graphs ``low`` to ``high`` alone."""
        rows = slice(low, high + 1)
        return dataclasses.replace(self, hub_ptr=self.hub_ptr[rows], other_ptr=self.other_ptr[rows])

    def alone(self, low: int, high: int, place: Int32Array) -> KeyCover:
        """The same, with the keys and hubs that these local graphs have; ``place``: where each key stands then."""
        rows = np.arange(low, high)
        hub_ptr, hubs = csr_rows(self.hub_ptr, self.hubs, rows)
        used, hub_places = np.unique(hubs, return_inverse=True)
        at_hub_ptr, at_hub = csr_rows(self.at_hub_ptr, self.at_hub, used)
        other_ptr, others = csr_rows(self.other_ptr, self.others, rows)
        return KeyCover(at_hub_ptr, place[at_hub], hub_ptr, hub_places.astype(np.int32), other_ptr, place[others])


@numba.njit(cache=True, nogil=True)
def _keys_at(edges: IntArray, key_ids: IntArray, place: Int32Array, num_hubs: int) -> tuple[IntArray, Int32Array]:
    """Keys that end at each hub, in order; ``place`` is the hub of a node, or -1."""
    ptr = np.zeros(num_hubs + 1, np.int64)
    for edge in key_ids:
        for side in range(2):
            ptr[place[edges[edge, side]] + 1] += place[edges[edge, side]] >= 0
    ptr = np.cumsum(ptr)
    slot = ptr[:-1].copy()
    keys = np.empty(ptr[-1], np.int32)
    for k in range(len(key_ids)):
        for side in range(2):
            hub = place[edges[key_ids[k], side]]
            if hub >= 0:
                keys[slot[hub]] = k
                slot[hub] += 1
    return ptr, keys


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
    key_ends: Int32Array
    key_nodes: IntArray
    ptr: IntArray
    members: Int32Array
    cover: KeyCover
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
            key_ends=key_ends.reshape(-1, 2).astype(np.int32),
            key_nodes=key_nodes,
            ptr=local.ptr,
            members=local.positions(key_ids),
            cover=KeyCover.build(edges, key_ids, local),
        )

    def on(self, device: torch.device) -> DeviceIndex:
        """What a kernel on another device reads, moved there once."""
        if device not in self._devices:
            arrays = (self.query_ends, self.key_node_ends, self.ptr, self.members)
            self._devices[device] = DeviceIndex(*(torch.tensor(array, device=device) for array in arrays))
        return self._devices[device]

    def block(self, low: int, high: int) -> MatchPlan:
        """The same queries with the local graphs ``low`` to ``high`` alone; what is on a device stays there."""
        part = dataclasses.replace(self, ptr=self.ptr[low : high + 1], cover=self.cover.block(low, high))
        for device, index in self._devices.items():
            part._devices[device] = dataclasses.replace(index, ptr=index.ptr[low : high + 1])
        return part

    def alone(self, low: int, high: int) -> MatchPlan:
        """As :meth:`block`, with no other keys than those of these local graphs, and nothing on a device."""
        ptr, members = csr_rows(self.ptr, self.members, np.arange(low, high))
        kept = np.unique(members)
        place = np.full(len(self.key_ids), -1, np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        nodes, ends = np.unique(self.key_ends[kept], return_inverse=True)
        return dataclasses.replace(
            self,
            key_ids=self.key_ids[kept],
            key_ends=ends.reshape(-1, 2).astype(np.int32),
            key_nodes=self.key_nodes[nodes],
            ptr=ptr,
            members=place[members],
            cover=self.cover.alone(low, high, place),
        )

    def of_queries(self, positions: IntArray) -> MatchPlan:
        """The queries at some positions alone; what is on a device stays there."""
        part = dataclasses.replace(self, query_ids=self.query_ids[positions], query_ends=self.query_ends[positions])
        for device, index in self._devices.items():
            ends = torch.tensor(part.query_ends, device=device)
            part._devices[device] = dataclasses.replace(index, query_ends=ends)
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
