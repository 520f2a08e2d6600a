"""Node embeddings, Eq. (1)."""

from se_gnn.encoder.columns import (
    EdgeColumn,
    Neighborhood,
    ReadColumn,
    encoder_features,
    neighbor_columns,
    own_edge_columns,
    value_scale,
)
from se_gnn.encoder.encoder import EncoderSteps, Network
from se_gnn.encoder.ensemble import Ensemble, principal_layer, side_by_side
from se_gnn.encoder.inputs import (
    Drawn,
    Dropout,
    EncoderInputs,
    propagation,
    row_factors,
    scaled_attributes,
    step_weights,
)
from se_gnn.encoder.protocol import AttributeEffects, Change, Embeddings, Encoder

__all__ = [
    "AttributeEffects",
    "Change",
    "Drawn",
    "Dropout",
    "EdgeColumn",
    "Embeddings",
    "Encoder",
    "EncoderInputs",
    "EncoderSteps",
    "Ensemble",
    "Neighborhood",
    "Network",
    "ReadColumn",
    "encoder_features",
    "neighbor_columns",
    "own_edge_columns",
    "principal_layer",
    "propagation",
    "row_factors",
    "scaled_attributes",
    "side_by_side",
    "step_weights",
    "value_scale",
]
