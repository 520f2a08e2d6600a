"""The section on the labeled memory says what the audit and the certificates say."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from labels.conftest import block_graph, block_model
from se_gnn.graph import Graph
from se_gnn.labels import Memory, audit, certify
from se_gnn.labels.audit import Finding
from se_gnn.labels.novelty import novelty, page_novelty
from se_gnn.number_format import percent
from se_gnn.report import report_html
from se_gnn.report.page import _looked_at, labeled_memory, page_audit
from se_gnn.report.templating import page_environment


@pytest.fixture(scope="module")
def found(hub):
    nodes = np.arange(hub.graph.num_nodes)
    return labeled_memory(hub, page_novelty(hub).of(nodes), nodes)


def test_shares_are_those_of_the_certificates_of_all_nodes(hub):
    certified, page = certify(hub), report_html(hub, nodes=[0], k=1)
    section = re.search(r'<details class="fold" id="certificates".*?</details>', page, flags=re.S).group()
    assert f"The share of {hub.graph.num_nodes} predictions" in section
    for count in certified.counts:
        shares = (sets.share_certified(count) for sets in (certified.removal, certified.relabeling))
        cells = "".join(f"<td>{percent(share)}</td>" for share in shares)
        assert f'<tr><th scope="row">{count}</th>{cells}</tr>' in section


def test_labeled_nodes_with_findings_come_first_and_all_is_as_in_the_audit_of_the_model(hub, found):
    judged = audit(hub, seed=hub.facts.seed)
    rows = {row.node: row for row in judged}
    assert found.suspects
    assert all(row.findings for row in found.suspects)
    assert list(found.suspects) == [rows[row.node] for row in found.suspects]
    for finding in Finding:
        np.testing.assert_array_equal(found.audit.found(finding), judged.found(finding))


def test_the_audit_of_a_page_is_drawn_by_the_seed_of_the_model(hub):
    other = hub.with_facts(seed=7)
    on_page = page_audit(other, np.arange(hub.graph.num_nodes))
    np.testing.assert_array_equal(on_page.values.weighted, audit(other, seed=7).values.weighted)


def test_the_curve_falls_in_steps_and_says_its_first_numbers():
    charts = page_environment().get_template("charts.html").module
    chart = ElementTree.fromstring(charts.certified([1, 0.5, 0], [1, 0.25]))
    removed, relabeled = (chart.find(f"path[@class='{kind}']").get("d") for kind in ("removed", "relabeled"))
    assert removed == "M0 0H130V75H260V150"
    assert relabeled == "M0 0H130V112.5H260V112.5"
    assert "50% if they are removed and 25% if they are relabeled" in chart.get("aria-label")


def test_the_page_has_the_section_and_tells_of_edits(hub):
    memory = Memory(hub)
    memory.remove([5])
    page = report_html(memory.trained, nodes=[0], k=1)
    section = re.search(r'<section id="memory".*?</section>', page, flags=re.S).group()
    assert "They were edited 1 time after the training" in section
    assert "Labeled nodes to look at" in section


def test_nodes_without_an_answer_come_with_their_closest_case_the_strangest_first():
    trained = block_model(block_graph())
    scored = novelty(trained)
    nodes = np.arange(trained.graph.num_nodes)
    found = labeled_memory(trained, page_novelty(trained).of(nodes), nodes).strangers
    assert len(found) == scored.abstains.sum() > 0
    assert scored.score[found].tolist() == sorted(scored.score[scored.abstains], reverse=True)
    page = report_html(trained, nodes=[0], k=1)
    section = re.search(r'<details class="fold" id="strangers".*?</details>', page, flags=re.S).group()
    assert f"{len(found)} of 400 are too different from everything known" in section
    rows = re.findall(r'<tr><th scope="row">.*?(\d+)</bdi>.*?<td class="text".*?(\d+)</bdi>', section)
    closest = trained.predict().cases[:, 0]
    assert rows == [(str(node), str(closest[node])) for node in found[:12]]


def test_a_node_without_an_answer_has_none_anywhere_on_the_page():
    trained = block_model(block_graph())
    scored = page_novelty(trained).of(np.arange(trained.graph.num_nodes))
    far, near = int(np.argmax(scored.score)), int(np.argmin(scored.score))
    pages = {node: report_html(trained, nodes=[node], k=1) for node in (far, near)}
    columns = json.loads(re.search(r'id="predictions-data">(.*?)</script>', pages[far], flags=re.S).group(1))
    assert (np.array(columns["predicted"]) < 0).tolist() == scored.abstains.tolist()
    explained = {node: page.split('<section id="nodes"')[1] for node, page in pages.items()}
    for part in ('class="strip"', "What would change the answer", "is predicted"):
        assert part in explained[near]
        assert part not in explained[far]
    assert "No answer" in explained[far]


def test_a_graph_too_large_to_judge_says_nothing_of_strangers(hub, monkeypatch):
    monkeypatch.setattr("se_gnn.labels.novelty.MOST_PAIRS", 10)
    assert 'id="strangers"' not in report_html(hub, nodes=[0], k=1)


def test_a_large_graph_is_looked_at_in_part(monkeypatch):
    monkeypatch.setattr("se_gnn.report.page.MOST_PAIRS", 10)
    graph = Graph.build(features=np.ones((5000, 1)), edges=np.empty((0, 2), int), labels=np.zeros(5000, int))
    nodes = _looked_at(graph, np.arange(5000))
    assert len(nodes) == len(np.unique(nodes)) == 1000
