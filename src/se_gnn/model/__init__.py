"""The model: an encoder, a graph, settings, and what is known of its training."""

from se_gnn.model.facts import Run, RunFacts
from se_gnn.model.model import Model
from se_gnn.model.prediction import Prediction
from se_gnn.model.segnn import SEGNN, check_model_size

__all__ = ["SEGNN", "Model", "Prediction", "Run", "RunFacts", "check_model_size"]
