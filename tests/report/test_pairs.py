"""The page about a pair shows the rows that were compared, with equal and close values marked."""

from __future__ import annotations

import re

from se_gnn.explain import NodeInfo, Value
from se_gnn.links.explain import NeighborVote, PairExplanation, PairInfo
from se_gnn.report import pairs_html


def test_rows_of_an_end_stand_beside_those_of_the_neighbors_that_vote():
    rows = {"town": Value("Bern"), "age": Value("40", 2.0, 0.5, 0.52)}
    ann, bob, cid = (NodeInfo(i, name, name, values=rows) for i, name in enumerate(("Ann", "Bob", "<Cid>")))
    vote = NeighborVote(cid, "source", 0.9, 0.9, None, 1.0, 0.5, 0.4)
    pair = PairExplanation(
        query=PairInfo(ann, bob, "", "knows", directed=False, known=False),
        probability=0.7,
        log_odds=0.8,
        base=0.1,
        direct_similarity=None,
        direct=0.0,
        votes=(vote,),
        others={"source": (), "target": ()},
        num_neighbors={"source": 1, "target": 0},
    )
    page = pairs_html([pair], title="pairs")
    assert re.findall(r"<h3>.*?</h3>", page) == ["<h3><bdi>Bob</bdi> beside <bdi>&lt;Cid&gt;</bdi></h3>"]
    assert page.count('<td class="value equal">') == 2
