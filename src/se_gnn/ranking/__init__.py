"""The vote of the nearest cases."""

from se_gnn.ranking.vote import ClassAnswers, tally, vote

__all__ = ["ClassAnswers", "tally", "vote"]
