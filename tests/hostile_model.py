"""A model that is not trained, with hostile names: claims about answers and pages have to hold for any parameters."""

from __future__ import annotations

from se_gnn.model import TrainedModel
from strategies import hub_graph, small_settings, untrained

HOSTILE_NAMES = (
    "</script><script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "../../../etc/passwd",
    "مرحبا بالعالم",
    "evil \u202e txt.exe",
    "😀 <b>bold</b> &amp; {{ 7 * 7 }}",
    "line\nbreak\ttab\x00null\ud800",
    "?a=b&c=d#e%2f",
)


def hostile_model() -> TrainedModel:
    graph = hub_graph(
        HOSTILE_NAMES,
        name="<script>hub</script>",
        class_names=("<i>first</i>", "second", "{{ third }}"),
        feature_names=["height", "<u>weight</u>", "price"],
    )
    similarity = {"num_nearest": 5, "directions": "both", "measure": "distance", "temperature": 0.2}
    return untrained(graph, small_settings(**similarity))
