"""Pictures of explanations for papers and notebooks; matplotlib is imported at use."""

from se_gnn.plot.figure import explanation_figure
from se_gnn.plot.save import save_figure

__all__ = ["explanation_figure", "save_figure"]
