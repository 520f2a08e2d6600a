"""What can be set, what the user set, and what presets, recipes and validation nodes fill in."""

from se_gnn.settings.sections import (
    AgreementObjective,
    EncoderSettings,
    NumberObjective,
    PaperObjective,
    SelectionSettings,
    SimilaritySettings,
    TrainingSettings,
    VoteObjective,
    VoteSettings,
)
from se_gnn.settings.settings import Decision, Given, Resolved, Settings

__all__ = [
    "AgreementObjective",
    "Decision",
    "EncoderSettings",
    "Given",
    "NumberObjective",
    "PaperObjective",
    "Resolved",
    "SelectionSettings",
    "Settings",
    "SimilaritySettings",
    "TrainingSettings",
    "VoteObjective",
    "VoteSettings",
]
