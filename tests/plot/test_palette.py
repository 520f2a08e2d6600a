from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from se_gnn.graph import UNKNOWN
from se_gnn.plot.style import CLASS_COLORS, MATCH_COLORS, UNKNOWN_COLOR, class_style

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009)
VISION = {
    "common": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def lab(color: str, vision: str) -> np.ndarray:
    """CIE L*a*b* of a color as somebody sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(VISION[vision] @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colors by the web's accessibility guidelines (WCAG 2.2)."""
    luminance = []
    for color in (one, other):
        rgb = np.array(to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        luminance.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_ten_classes_can_be_told_apart(vision):
    seen = [lab(color, vision) for color in (*CLASS_COLORS, UNKNOWN_COLOR)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 17


@pytest.mark.parametrize("color", [*CLASS_COLORS, UNKNOWN_COLOR, *MATCH_COLORS])
def test_a_color_is_readable_on_white_and_text_on_it_too(color):
    assert contrast(color, "#FFFFFF") >= 3
    if color in CLASS_COLORS:
        assert contrast(color, class_style(CLASS_COLORS.index(color)).ink) >= 4


@pytest.mark.parametrize("vision", VISION)
def test_numbered_edges_can_be_told_apart(vision):
    seen = [lab(color, vision) for color in MATCH_COLORS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def test_sixty_classes_have_sixty_looks():
    assert len({class_style(label)[:2] for label in range(60)}) == 60


def test_an_unknown_class_is_grey():
    assert class_style(UNKNOWN).color == UNKNOWN_COLOR not in CLASS_COLORS
