import base64
import io

import numpy as np
import pytest

from se_gnn.graph import Graph
from se_gnn.report.node import NodeImages

FEATURES = np.array([[0, 1, 2, 3, 4, 4], [4, 0, 0, 0, 0, 0]], dtype=np.float32)


def graph(features, **details):
    return Graph.build(features=features, edges=[(0, 1)], labels=[0, 1], **details)


@pytest.mark.parametrize("sparse", [False, True])
def test_pixels_survive_and_high_values_are_dark(sparse):
    image = pytest.importorskip("matplotlib.image")
    import scipy.sparse as sp

    features = sp.csr_array(FEATURES) if sparse else FEATURES
    uri = NodeImages(graph(features, image_shape=(2, 3))).uri(0)
    kind, _, content = uri.partition(",")
    assert kind == "data:image/png;base64"
    pixels = image.imread(io.BytesIO(base64.b64decode(content)), format="png")
    np.testing.assert_allclose(pixels, 1 - FEATURES[0].reshape(2, 3) / 4, atol=1 / 255)


def test_nodes_that_are_no_pictures_have_none():
    assert NodeImages(graph(FEATURES)).uri(0) is None
