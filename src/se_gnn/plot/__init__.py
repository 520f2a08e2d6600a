"""Pictures of explanations for papers and notebooks; matplotlib is imported at use."""

from se_gnn.plot.curves import training_figure
from se_gnn.plot.embedding_map import embedding_figure
from se_gnn.plot.figure import explanation_figure
from se_gnn.plot.style import save_figure

__all__ = ["embedding_figure", "explanation_figure", "save_figure", "training_figure"]
