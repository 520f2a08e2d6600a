"""The SE-GNN model: encode, compare, vote."""

from se_gnn.model.facts import Run, RunFacts
from se_gnn.model.prediction import Prediction
from se_gnn.model.segnn import SEGNN, check_model_size
from se_gnn.model.trained import TrainedModel
from se_gnn.model.voter import Voter

__all__ = ["SEGNN", "Prediction", "Run", "RunFacts", "TrainedModel", "Voter", "check_model_size"]
