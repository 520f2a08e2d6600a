"""A model that is not trained, with hostile names: claims about answers and pages have to hold for any parameters."""

from __future__ import annotations

from typing import Any

from se_gnn.model import Model
from strategies import hub_graph, small_settings, untrained

HOSTILE_NAMES = (
    "</script><script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "../../../etc/passwd",
    "مرحبا بالعالم",
    "evil \u202e txt.exe",
    "😀👩‍👩‍👧 <b>bold</b> &amp; {{ 7 * 7 }}",
    "line\nbreak\ttab\x00null\ud800",
    "?a=b&c=d#e%2f",
    "' onmouseover='document.title=1",
    "a-name-of-forty-characters-or-so-in-total",
)


def hostile_model(*, similarity: dict[str, Any] | None = None, **values: Any) -> Model:
    """The hub graph with hostile names; ``similarity`` are settings, ``values`` go to `Graph.build`."""
    usual = {
        "name": "<script>hub</script>",
        "class_names": ("<i>first</i>", 'שני "two"', "{% raw %} {{ third }} 😀"),
        "feature_names": ["<u>height</u>", "وزن", "price & tax"],
    }
    chosen = {"num_nearest": 5, "directions": "both", "measure": "distance", "temperature": 0.2, **(similarity or {})}
    return untrained(hub_graph(HOSTILE_NAMES, **{**usual, **values}), small_settings(**chosen))
