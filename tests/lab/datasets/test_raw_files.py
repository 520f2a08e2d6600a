"""Files that nobody publishes on their own: how to get them, and whether they hold the published values."""

from __future__ import annotations

import numpy as np
import pytest

from lab.datasets import load_dataset
from se_gnn.errors import InputError

pytestmark = pytest.mark.usefixtures("private_cache")


@pytest.mark.parametrize(
    ("name", "what", "where", "folder"),
    [
        ("syn-cora", "ind.cora.allx", "https://github.com/kimiyoung/planetoid", "Planetoid"),
        ("ba-shapes-pgexplainer", "syn1.npz", "https://github.com/flyingdoog/PGExplainer", "ba_shapes"),
        ("syn-cora-authors", "syn_cora_seed15_connect3.npz", "https://github.com/EnyanDai/SEGNN", "syn_cora"),
        ("ogbn-arxiv", "node-feat.csv.gz", "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip", "ogbn_arxiv"),
    ],
)
def test_missing_data_without_network_says_what_to_get_from_where_and_where_to_put_it(
    name, what, where, folder, tmp_path
):
    with pytest.raises(InputError) as caught:
        load_dataset(name, data_dir=tmp_path)
    text = str(caught.value)
    assert all(part in text for part in (what, where, str(tmp_path / folder), "SE_GNN_DATA"))


def test_values_that_are_not_the_published_ones_are_refused(data_dir, tmp_path):
    with np.load(data_dir / "ba_shapes" / "syn1.npz") as file:
        arrays = dict(file)
    (tmp_path / "ba_shapes").mkdir()
    np.savez(tmp_path / "ba_shapes" / "syn1.npz", **arrays)  # packed anew: other bytes, the same values
    assert load_dataset("ba-shapes-pgexplainer", data_dir=tmp_path).num_edges == 2055
    arrays["label"] = 1 - arrays["label"].clip(0, 1)
    np.savez(tmp_path / "ba_shapes" / "syn1.npz", **arrays)
    with pytest.raises(InputError, match=r"syn1\.npz does not hold the published values"):
        load_dataset("ba-shapes-pgexplainer", data_dir=tmp_path)
