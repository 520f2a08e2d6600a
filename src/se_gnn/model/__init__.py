"""The SE-GNN model: encode, compare, vote."""

from se_gnn.model.prediction import Prediction
from se_gnn.model.segnn import SEGNN
from se_gnn.model.trained import TrainedModel
from se_gnn.model.voter import Voter, check_num_nearest

__all__ = ["SEGNN", "Prediction", "TrainedModel", "Voter", "check_num_nearest"]
