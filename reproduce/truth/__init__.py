"""Whether explanations are true: every number and every statement of them, computed again in plain NumPy, float64."""

from reproduce.truth.experiment import ELSEWHERE, TITLE, render, series

__all__ = ["ELSEWHERE", "TITLE", "render", "series"]
