"""Node embeddings, Eq. (1)."""

from se_gnn.encoder.committee import Committee, side_by_side
from se_gnn.encoder.dropout import Dropout
from se_gnn.encoder.encoder import Change, Encoder, EncoderSteps
from se_gnn.encoder.inputs import EncoderInputs, propagation, row_factors

__all__ = [
    "Change",
    "Committee",
    "Dropout",
    "Encoder",
    "EncoderInputs",
    "EncoderSteps",
    "propagation",
    "row_factors",
    "side_by_side",
]
