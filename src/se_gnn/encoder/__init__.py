"""Node embeddings, Eq. (1)."""

from se_gnn.encoder.attributes import principal_layer
from se_gnn.encoder.dropout import Dropout
from se_gnn.encoder.encoder import Change, Encoder, EncoderSteps
from se_gnn.encoder.ensemble import Ensemble, side_by_side
from se_gnn.encoder.inputs import EncoderInputs, propagation, row_factors, scaled_attributes, step_weights
from se_gnn.encoder.own_edges import EdgeColumn, encoder_features, own_edge_columns

__all__ = [
    "Change",
    "Dropout",
    "EdgeColumn",
    "Encoder",
    "EncoderInputs",
    "EncoderSteps",
    "Ensemble",
    "encoder_features",
    "own_edge_columns",
    "principal_layer",
    "propagation",
    "row_factors",
    "scaled_attributes",
    "side_by_side",
    "step_weights",
]
