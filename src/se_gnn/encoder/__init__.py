"""Node embeddings, Eq. (1)."""

from se_gnn.encoder.encoder import Encoder, EncoderSteps
from se_gnn.encoder.inputs import EncoderInputs, propagation

__all__ = ["Encoder", "EncoderInputs", "EncoderSteps", "propagation"]
