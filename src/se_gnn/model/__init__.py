"""The SE-GNN model: encode, compare, vote."""

from se_gnn.model.prediction import Prediction
from se_gnn.model.segnn import SEGNN, Voter, check_num_nearest
from se_gnn.model.trained import TrainedModel

__all__ = ["SEGNN", "Prediction", "TrainedModel", "Voter", "check_num_nearest"]
